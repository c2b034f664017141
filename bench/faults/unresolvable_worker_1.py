"""A worker's name means nothing to anybody."""

from bench.fault import Config, Effect, Fault, address_of, told, with_address, with_own_address

LOST = "worker:1"


def renamed(task: str, config: Config) -> Config:
    port = address_of(config, LOST).rpartition(":")[2]
    with_own_address(config)  # a loopback address next to a name would be a fault of its own
    return with_address(config, LOST, f"gpu-07.invalid:{port}")


fault = Fault(
    tasks=(LOST,),
    config=renamed,
    effect={
        "mirrored": Effect.DIES,
        "parameter_server": Effect.BLOCKS,
        "session_unfiltered": Effect.BLOCKS,
    },
    says={
        "check": told("name-not-resolved", LOST),
        "run": told("name-not-resolved", LOST),
        "attach/parameter_server": told("name-not-resolved", LOST),
        "attach/session_unfiltered": told("name-not-resolved", LOST),
    },
)
