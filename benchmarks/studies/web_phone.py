"""The phone in Chromium beside the simulated one: python benchmarks/studies/web_phone.py [--problems 40].

Needs the extra [web] and a Chromium. The scripted expert solves problems of Phone-v1 (train split) on the simulated
phone; the very same action strings are then replayed in the page, with the simulated phone's boxes (``same``) and laid
out by CSS (``flow``), where elements stand elsewhere. The same expert that asks the page where an element stands says
how much of the gap is place alone. Prints one line a layout and viewport, with Wilson's 95% intervals.
"""

import argparse
import json
import time
from collections.abc import Sequence

from tiltyard.benchmarks.evaluation import wilson
from tiltyard.envs import seeding
from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.problems_v1 import Problem, Split, choices, generate
from tiltyard.envs.gui.web.browser import Browser
from tiltyard.envs.gui.web.phone import WebExpert, WebPhone
from tiltyard.envs.gui.web.problem import pages
from tiltyard.envs.gui.web.server import Server

PLACES = (("same", 640, 360), ("flow", 640, 360), ("flow", 915, 412), ("flow", 1280, 800))
ENDS = ("done", "infeasible")
LIMIT = 60


def drawn(n: int, levels: Sequence[int]) -> list[Problem]:
    """Problems of the levels in turn, without what disturbs: the gap is of layout alone."""
    split = Split(rows=("theme", "home"))
    keys = seeding.problem_keys("train", [4711] * n, list(range(n))).tolist()
    levels = [levels[i % len(levels)] for i in range(n)]
    return [generate(key, level, choices(level, None, split), split) for key, level in zip(keys, levels, strict=True)]


def recorded(problem: Problem) -> list[str]:
    """The expert's actions on the simulated phone."""
    phone, actions = problem.phone(), [""]
    while actions[-1] not in ENDS and len(actions) <= LIMIT:
        actions.append(ScriptedExpert(phone, problem.goal).action())
        phone.act(parse(actions[-1], VERBS))
    return actions[1:]


def replayed(web: WebPhone, problem: Problem, actions: Sequence[str]) -> bool:
    """Whether the same actions reach the goal in the page."""
    web.begin(problem)
    for action in actions:
        web.act(parse(action, VERBS))
    return problem.goal.reached(web.state, web.answer, actions[-1])


def led(web: WebPhone, problem: Problem) -> bool:
    """Whether the expert does that looks where elements are."""
    web.begin(problem)
    for _ in range(LIMIT):
        action = WebExpert(web, ScriptedExpert(web.mirror, problem.goal)).action()
        web.act(parse(action, VERBS))
        if action in ENDS:
            return problem.goal.reached(web.state, web.answer, action)
    return False


def said(successes: Sequence[bool]) -> str:
    """The share with its interval."""
    low, high = wilson(successes)
    return f"{sum(successes)}/{len(successes)} = {sum(successes) / len(successes):.0%} [{low:.0%}, {high:.0%}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--level", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--led", type=int, default=20, help="problems on which the expert looks at the page")
    options = parser.parse_args(arguments)
    problems = drawn(options.problems, options.level)
    actions = [recorded(problem) for problem in problems]
    print(json.dumps({"problems": len(problems), "actions": sum(map(len, actions))}), flush=True)
    server = Server(pages())
    with Browser.launch(timeout=60.0) as browser:
        for layout, height, width in PLACES:
            web = WebPhone(browser.page(f"{server.url}/?layout={layout}", width, height), layout)
            start = time.perf_counter()
            replay = [replayed(web, one, those) for one, those in zip(problems, actions, strict=True)]
            rate = sum(map(len, actions)) / (time.perf_counter() - start)
            looking = [led(web, one) for one in problems[: options.led]]
            where = f"{layout} {width}x{height}"
            print(f"{where:16} replayed {said(replay)}, led {said(looking)}, {rate:.1f} steps/s", flush=True)
            web.page.close()
    server.close()


if __name__ == "__main__":
    main()
