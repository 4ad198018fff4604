"""What goes wrong between here and a CARLA server, each told in one sentence."""


class CarlaError(RuntimeError):
    """Something between here and the server failed."""


class NoServer(CarlaError):
    """No server answers at an address; the message says how to start one."""

    def __init__(self, host: str, port: int, why: object) -> None:
        super().__init__(
            f"no CARLA server answers at {host}:{port} ({why}); start one and try again: "
            f"docker run --rm --gpus all --net host carlasim/carla:0.9.16 "
            f"/bin/bash CarlaUE4.sh -RenderOffScreen -carla-rpc-port={port}, or, in an unpacked release, "
            f"./CarlaUE4.sh -RenderOffScreen -carla-rpc-port={port}"
        )


class ServerLost(CarlaError):
    """A server that answered does so no more: it died, or its connection broke."""
