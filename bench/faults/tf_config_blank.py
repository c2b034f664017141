"""A blank before a worker's own address: TensorFlow takes it."""

from bench.fault import SILENT, Config, Effect, Fault, address_of, with_address


def spoilt(task: str, config: Config) -> Config:
    if task != "worker:1":
        return config
    return with_address(config, task, f" {address_of(config, task)}")


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
