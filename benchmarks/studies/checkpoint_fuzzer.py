"""Damages checkpoints at random and loads them: each load must succeed or end in one sentence, and nothing else happen.

Five small agents are trained and saved: on vectors (PPO, SAC, DQN), on a dict of observations (TD3) and on text
(GRPO). Each mutation spoils a copy in memory: its bytes, its zip, its settings or the header of its tensors, the last
two with hostile values (class paths, file names, huge numbers, deep nesting, dunder names) and correct checksums. What
a load may not do is watched by an audit hook: writing or removing files, reading the canary, importing what clean loads
have not imported (but parts of Tiltyard), starting processes, opening sockets. Memory is limited to 4 GiB more than
clean loads take, and a load to 30 seconds of the processor.

Command: ``python -m tiltyard.benchmarks.studies.checkpoint_fuzzer --mutations 10000 --seed 0``; exit code 1 if anything
happened that may not.
"""

import argparse
import io
import json
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

HOSTILE_CLASSES = (
    "os:system",
    "stable_baselines3_evil:X",
    "stable_baselines3.ppo.ppo:PPO",
    "stable_baselines3.common.logger:CSVOutputFormat",
    "torch.nn.modules.container:Sequential",
    "torch.optim.lbfgs:LBFGS",
    "torch.nn.modules.activation:GELU",
)
KEYS = (
    "__dict__ __class__ __init__ predict policy policy_class env device tensorboard_log _init_setup_model logger "
    "_vec_normalize_env features_extractor_class optimizer_class lr_schedule observation_space $class $space"
).split()
FORBIDDEN = (
    "subprocess.Popen os.system os.exec os.fork os.forkpty os.posix_spawn os.spawn socket.connect socket.bind "
    "socket.getaddrinfo os.remove os.rename os.mkdir os.rmdir os.truncate os.chmod os.link os.symlink shutil.rmtree "
    "pickle.find_class"
).split()
MEMORY, SECONDS = 4 * 2**30, 30


class Compass(gymnasium.Env[dict[str, Any], Any]):
    """Observes a dict, ends after eight steps."""

    observation_space = Dict(place=Box(-1, 1, (2,), np.float32), side=Discrete(3))
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begins anew."""
        super().reset(seed=seed)
        self._step = 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        """Counts."""
        self._step += 1
        return self._seen(), float(action[0]), self._step == 8, False, {}

    def _seen(self) -> dict[str, Any]:
        return {"place": self.np_random.uniform(-1, 1, 2).astype(np.float32), "side": int(self.np_random.integers(3))}


def checkpoints() -> list[tuple[Any, bytes]]:
    """Classes of agents, each with a valid checkpoint of one."""
    from ...agents import DQN, PPO, SAC, TD3, PolicyGradient

    small: dict[str, Any] = {"seed": 0, "device": "cpu"}
    tiny: dict[str, Any] = {**small, "policy_kwargs": {"net_arch": [4]}, "batch_size": 4}
    replay: dict[str, Any] = {**tiny, "learning_starts": 4, "buffer_size": 64}
    made = [
        PPO("MlpPolicy", "CartPole-v1", n_steps=8, n_epochs=1, **tiny).learn(16),
        SAC("MlpPolicy", "Pendulum-v1", action_noise=0.1, **replay).learn(8),
        DQN("MlpPolicy", "CartPole-v1", **replay).learn(8),
        TD3("MultiInputPolicy", Compass(), **replay).learn(8),
        PolicyGradient(
            "transformer-100k", "tiltyard/ChainSum-v0", group_size=2, prompts_per_batch=1, max_answer_tokens=4, **small
        ).learn(2),
    ]
    files = [io.BytesIO() for _ in made]
    for agent, file in zip(made, files, strict=True):
        agent.save(file)
    return [(type(agent), file.getvalue()) for agent, file in zip(made, files, strict=True)]


@dataclass(frozen=True)
class Mutator:
    """Spoils checkpoints.

    Attributes:
        rng: of all choices.
        canary: a file that nobody may read or write.
    """

    rng: np.random.Generator
    canary: str

    def __call__(self, whole: bytes) -> tuple[str, bytes]:
        """How it was done, and the result."""
        ways: list[Callable[[bytes], bytes]] = [
            self.spoil_bytes,
            self.spoil_zip,
            self.spoil_settings,
            self.spoil_tensors,
        ]
        way = ways[int(self.rng.choice(4, p=[0.25, 0.1, 0.5, 0.15]))]
        return way.__name__, way(whole)

    def spoil_bytes(self, whole: bytes) -> bytes:
        """Flips bits, cuts off, cuts out, writes noise over or puts it in."""
        data, at = bytearray(whole), int(self.rng.integers(len(whole)))
        noise, way = self.rng.bytes(int(self.rng.integers(1, 40))), int(self.rng.integers(5))
        if way == 0:
            for place in self.rng.integers(len(data), size=int(self.rng.integers(1, 9))).tolist():
                data[place] ^= 1 << int(self.rng.integers(8))
        elif way == 1:
            del data[at:]
        elif way == 2:
            del data[at : at + len(noise)]
        elif way == 3:
            data[at : at + len(noise)] = noise
        else:
            data[at:at] = noise
        return bytes(data)

    def spoil_zip(self, whole: bytes) -> bytes:
        """Leaves out, doubles, renames, compresses or adds members, or says other sizes."""
        settings, weights = parts(whole)
        names, way = ["settings.json", "weights.safetensors"], int(self.rng.integers(6))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if way == 0 else zipfile.ZIP_STORED) as archive:
            warnings.simplefilter("ignore")  # of doubled names
            for name, data in zip(names, (settings, weights), strict=True):
                if way == 1 and self.rng.random() < 0.5:
                    continue
                for _ in range(2 if way == 2 and self.rng.random() < 0.5 else 1):
                    archive.writestr(f"../{name}" if way == 3 and self.rng.random() < 0.5 else name, data)
            if way == 4:
                archive.writestr(self.canary if self.rng.random() < 0.5 else "data", b"x")
        spoilt = bytearray(out.getvalue())
        if way == 5:  # sizes in the central directory
            at = spoilt.rindex(b"PK\x01\x02") + int(self.rng.choice([20, 24, 42]))
            spoilt[at : at + 4] = struct.pack("<I", int(self.rng.choice([0, 1, 2**31, 2**32 - 1])))
        return bytes(spoilt)

    def spoil_settings(self, whole: bytes) -> bytes:
        """Changes one to three places of the settings."""
        settings, weights = parts(whole)
        data = json.loads(settings)
        for _ in range(int(self.rng.choice([1, 1, 2, 3]))):
            self._spoil(data)
        written = (
            json.dumps(data).replace('"\\u0000huge"', "9" * 5000).replace('"\\u0000deep"', "[" * 9999 + "]" * 9999)
        )
        return packed(written.encode(), weights)

    def spoil_tensors(self, whole: bytes) -> bytes:
        """Changes the header of the tensors, or says another length of it."""
        settings, weights = parts(whole)
        size = struct.unpack("<Q", weights[:8])[0]
        header, rest = json.loads(weights[8 : 8 + size]), weights[8 + size :]
        if self.rng.random() < 0.1:
            return packed(settings, struct.pack("<Q", int(self.rng.choice([0, 1, size - 1, 2**40]))) + weights[8:])
        name = str(self.rng.choice(list(header)))
        way = int(self.rng.integers(6))
        if way == 0:
            header[name]["dtype"] = str(self.rng.choice(["F64", "F16", "I32", "U8", "BOOL", "I64", "F99", "F8_E4M3"]))
        elif way == 1:
            header[name]["shape"] = [[], [0], [10**12], [2**32, 2**32], [-1], header[name]["shape"][::-1]][
                int(self.rng.integers(6))
            ]
        elif way == 2:
            header[name]["data_offsets"] = [int(part) for part in self.rng.integers(0, len(rest) + 9, 2)]
        elif way == 3:
            header[str(self.rng.choice([*KEYS, *header]))] = header.pop(name)
        elif way == 4:
            header[name] = self.hostile()
        else:
            rest = rest[: int(self.rng.integers(len(rest)))]
        written = json.dumps(header).encode()
        return packed(settings, struct.pack("<Q", len(written)) + written + rest)

    def _spoil(self, data: Any) -> None:
        section = str(self.rng.choice(list(data)))  # else nearly all mutations would be of optimisers' states
        inside = nodes(data[section]) if isinstance(data[section], dict | list) else ()
        places = [(data, section), *inside]
        holder, key = places[int(self.rng.integers(len(places)))]
        way = int(self.rng.integers(6))
        if way == 0:
            del holder[key]
        elif way == 1 and isinstance(holder, dict):
            holder[str(self.rng.choice(KEYS))] = self.hostile()
        elif way == 2:
            other, place = places[int(self.rng.integers(len(places)))]
            holder[key] = json.loads(json.dumps(other[place]))
        elif way == 3 and isinstance(holder[key], int | float):
            holder[key] = [0, -1, 10**6, 10**9, 10**12, 2**63, 1e308, float("nan"), float("inf")][
                int(self.rng.integers(9))
            ]
        else:
            holder[key] = self.hostile()

    def hostile(self) -> Any:
        """What no checkpoint should hold."""
        box = {"$space": "Box", "low": 0, "high": 1, "shape": [10**5, 10**5], "dtype": "float32"}
        values: list[Any] = [
            *({"$class": path} for path in HOSTILE_CLASSES),
            self.canary,
            "evilmod:X-v0",
            "hf:evil/model",
            f"{self.canary}.safetensors",
            *KEYS[:6],
            *(0, -1, 10**12, 2**64, "\0huge", "\0deep", 1.5, float("nan"), float("-inf"), True, None, "", "x" * 10**5),
            *([], {}, [[]], [10**9], [1] * 10**4, {"pi": [10**9, 10**9]}, {"name": "evilmod:X"}),
            box,
            {**box, "dtype": "O"},
            {**box, "dtype": "U999999999", "shape": [9]},
            {"$space": "Dict", "spaces": {str(i): {**box, "shape": [2**26]} for i in range(9)}},
            {"$space": "MultiBinary", "n": 10**12},
            {"$space": "Discrete", "n": 10**12, "start": 0},
            {"$space": "Text", "max_length": 10**12, "min_length": 0, "charset": "a"},
            {"$array": [self.canary], "dtype": "O"},
            {"$array": [[1], [2, 3]], "dtype": "float32"},
            {"$schedule": "FloatSchedule", "value_schedule": {"$class": HOSTILE_CLASSES[-1]}},
            {"$noise": "NormalActionNoise", "mean": self.canary, "sigma": 1},
            {"$tensor": "policy"},
            {"$items": [[["a"], 1]]},
            {"$tuple": 3},
        ]
        return values[int(self.rng.integers(len(values)))]


def parts(whole: bytes) -> tuple[bytes, bytes]:
    """Settings and weights of a checkpoint."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return archive.read("settings.json"), archive.read("weights.safetensors")


def packed(settings: bytes, weights: bytes) -> bytes:
    """A zip of both."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("settings.json", settings)
        archive.writestr("weights.safetensors", weights)
    return out.getvalue()


def nodes(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in JSON data, as a container and what it is found by there."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from nodes(data[key])


class Watch:
    """Notes what may not happen while it is on; an audit hook cannot be taken away again.

    Args:
        canary: a file that nobody may open.
    """

    def __init__(self, canary: str) -> None:
        self.canary, self.on = canary, False
        self.seen: list[str] = []
        self.known = set(sys.modules)
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        if event == "open" and (str(args[0]).startswith(self.canary) or (args[2] or 0) & writes):
            self.seen.append(f"opened {args[0]}")
        elif event == "import" and args[0] not in self.known and not args[0].startswith("tiltyard"):
            self.seen.append(f"imported {args[0]}")
        elif event in FORBIDDEN:
            self.seen.append(f"{event} {args!r:.100}")


def outcome(agent: Any, data: bytes, watch: Watch) -> str:
    """The result of loading: "loaded", "refused", or what should not have happened."""
    watch.seen.clear()
    watch.on = True
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        agent.load(io.BytesIO(data), device="cpu")
        found = "loaded"
    except ValueError as error:
        found = "refused" if "\n" not in str(error) and "the file" in str(error) else f"no sentence: {error}"
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        watch.on = False
    return "; ".join(watch.seen) or found


class TooLong(BaseException):
    """A load that goes on and on; no ``except Exception`` hides it."""


def run(mutations: int, seed: int, folder: Path) -> tuple[Counter[tuple[str, str, str]], dict[str, float]]:
    """Outcomes by agent, way and what happened; and the longest load in seconds, and the memory taken in megabytes."""
    import difflib  # noqa: F401 (messages use it)

    for name in ("stable_baselines3_evil", "evilmod"):
        (folder / f"{name}.py").write_text("X = print\n")
    sys.path.insert(0, str(folder))
    canary = folder / "canary"
    canary.write_text("alive")
    valid = checkpoints()
    for agent, data in valid:
        agent.load(io.BytesIO(data), device="cpu")
    before, here = sorted(folder.iterdir()), sorted(Path.cwd().iterdir())
    watch, mutate = Watch(str(canary)), Mutator(np.random.default_rng(seed), str(canary))
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limit = MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    counts: Counter[tuple[str, str, str]] = Counter()
    longest = 0.0
    for i in range(mutations):
        agent, data = valid[i % len(valid)]
        way, spoilt = mutate(data)
        start = time.process_time()
        counts[agent.__name__, way, outcome(agent, spoilt, watch)] += 1
        longest = max(longest, time.process_time() - start)
    if canary.read_text() != "alive" or (before, here) != (sorted(folder.iterdir()), sorted(Path.cwd().iterdir())):
        counts["", "", "a file was made, changed or removed"] += 1
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - taken) / 1024
    return counts, {"longest load in seconds": longest, "more memory in MB": more}


def main() -> int:
    """Prints counts; 1 if a load did what it may not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()

    def stop(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, stop)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        counts, measured = run(given.mutations, given.seed, Path(folder))
    for (agent, way, found), count in sorted(counts.items()):
        print(f"{agent:15} {way:15} {count:6} {found[:400]}")
    bad = sum(count for (_, _, found), count in counts.items() if found not in ("loaded", "refused"))
    total = Counter[str]()
    for (_, _, found), count in counts.items():
        total[found if found in ("loaded", "refused") else "wrong"] += count
    print(dict(total), {name: round(value, 2) for name, value in measured.items()})
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
