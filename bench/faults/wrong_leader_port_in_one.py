"""One worker looks for the leader at a port where nobody listens: it seems never to start."""

from bench.fault import Config, Effect, Fault, address_of, closed_port, told, with_address

WRONG = "worker:2"


def wrong_here(task: str, config: Config) -> Config:
    if task != WRONG:
        return config
    return with_address(config, "worker:0", closed_port(address_of(config, "worker:0")))


fault = Fault(
    tasks=(WRONG,),
    config=wrong_here,
    effect={"mirrored": Effect.BLOCKS},
    says={
        "check": told("spec-differs", WRONG),
        "run": told("spec-differs wrong-port", WRONG),
        "attach": told("spec-differs wrong-port", WRONG),
    },
)
