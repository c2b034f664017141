"""An index in quotes: TensorFlow takes it."""

from bench.fault import SILENT, Config, Effect, Fault


def spoilt(task: str, config: Config) -> Config:
    if task == "worker:1":
        config["task"]["index"] = "1"
    return config


fault = Fault(
    tasks=("worker:1",),
    config=spoilt,
    effect={
        "mirrored": Effect.TRAINS,
        "parameter_server": Effect.TRAINS,
        "session": Effect.TRAINS,
    },
    says={"check": SILENT, "run": SILENT, "attach": SILENT},
)
