"""A TF_CONFIG that does not say who it is for."""

from bench.fault import Config, Effect, Fault, told


def spoilt(task: str, config: Config) -> Config:
    if task == "worker:1":
        del config["task"]
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
        "check": told("spec-unreadable spec-wrong-task", "worker:1", None),
        "run": told("bad-tf-config spec-unreadable spec-wrong-task", "worker:1"),
        "attach": told("never-started refused spec-unreadable spec-wrong-task", "worker:1"),
    },
)
