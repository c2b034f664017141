"""A role that the cluster does not have."""

from bench.fault import Config, Effect, Fault, told


def spoilt(task: str, config: Config) -> Config:
    if task == "worker:1":
        config["task"]["type"] = "workers"
    return config


fault = Fault(
    tasks=("worker:1",),
    config=spoilt,
    effect={
        "mirrored": Effect.DIES,
        "parameter_server": Effect.DIES,
        "session": Effect.DIES,
    },
    says={
        "check": told("spec-wrong-task", "workers:1"),
        "run": told("bad-tf-config spec-wrong-task", "worker:1"),
        "attach": told("never-started refused spec-wrong-task", "worker:1"),
    },
)
