"""All but worker 1 itself look for it at a port where nobody listens."""

from bench.fault import Config, Effect, Fault, address_of, closed_port, told, with_address

ODD = "worker:1"


def wrong_elsewhere(task: str, config: Config) -> Config:
    if task == ODD:
        return config
    return with_address(config, ODD, closed_port(address_of(config, ODD)))


fault = Fault(
    tasks=("worker:1",),
    config=wrong_elsewhere,
    effect={
        "mirrored": Effect.DIES,
        "parameter_server": Effect.BLOCKS,
        "session": Effect.TRAINS,
        "session_unfiltered": Effect.BLOCKS,
    },
    says={
        "check": told("spec-differs", ODD, None),
        "run": told("spec-differs wrong-port", ODD, None),
        "attach/parameter_server": told("spec-differs wrong-port", ODD, None),
        "attach/session": told("spec-differs wrong-port", ODD, None),
        "attach/session_unfiltered": told("spec-differs wrong-port", ODD, None),
    },
)
