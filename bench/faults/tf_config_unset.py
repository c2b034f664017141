"""No TF_CONFIG at all: a mirrored worker trains alone, to the end, and the others wait."""

from bench.fault import Config, Effect, Fault, told


def spoilt(task: str, config: Config) -> Config | None:
    return None if task == "worker:1" else config


fault = Fault(
    tasks=("worker:1",),
    config=spoilt,
    effect={
        "mirrored": Effect.BLOCKS,
        "parameter_server": Effect.DIES,
        "session": Effect.DIES,
    },
    says={
        "run": told("spec-unreadable", "worker:1"),
        "attach": told("never-started refused spec-unreadable", "worker:1"),
    },
)
