"""A worker's own address without its port."""

from bench.fault import Config, Effect, Fault, address_of, told, with_address


def spoilt(task: str, config: Config) -> Config:
    if task != "worker:1":
        return config
    host = address_of(config, task).rpartition(":")[0]
    return with_address(config, task, host)


fault = Fault(
    tasks=("worker:1",),
    config=spoilt,
    effect={
        "mirrored": Effect.DIES,
        "parameter_server": Effect.DIES,
        "session": Effect.DIES,
    },
    says={
        "check": told("spec-bad-address", "worker:1"),
        "run": told("bad-tf-config spec-bad-address", "worker:1"),
        "attach": told("never-started refused spec-bad-address", "worker:1"),
    },
)
