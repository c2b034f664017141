"""A TF_CONFIG without a cluster: a mirrored worker trains alone, the others wait."""

from bench.fault import Config, Effect, Fault, told


def spoilt(task: str, config: Config) -> Config:
    if task == "worker:1":
        del config["cluster"]
    return config


fault = Fault(
    tasks=("worker:1",),
    config=spoilt,
    effect={
        "mirrored": Effect.BLOCKS,
        "parameter_server": Effect.DIES,
        "session": Effect.DIES,
    },
    says={
        "check": told("spec-without-cluster", "worker:1"),
        "run": told("spec-without-cluster", "worker:1"),
        "attach": told("never-started refused spec-without-cluster", "worker:1"),
    },
)
