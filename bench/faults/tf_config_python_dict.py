"""A printed Python dict instead of JSON."""

from bench.fault import Config, Effect, Fault, told


def spoilt(task: str, config: Config) -> Config | str:
    return str(config) if task == "worker:1" else config


fault = Fault(
    tasks=("worker:1",),
    config=spoilt,
    effect={
        "mirrored": Effect.DIES,
        "parameter_server": Effect.DIES,
        "session": Effect.DIES,
    },
    says={
        "check": told("spec-unreadable", "worker:1", None),  # such a file names nobody
        "run": told("bad-tf-config spec-unreadable", "worker:1"),
        "attach": told("never-started refused spec-unreadable", "worker:1"),
    },
)
