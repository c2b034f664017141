"""One task looks for worker 1 at a port where nobody listens; the others know better."""

from bench.fault import Config, Effect, Fault, address_of, closed_port, told, with_address

WRONG = ("worker:2", "chief:0")  # the third worker of a mirrored training, or the chief


def wrong_here(task: str, config: Config) -> Config:
    if task not in WRONG:
        return config
    return with_address(config, "worker:1", closed_port(address_of(config, "worker:1")))


fault = Fault(
    tasks=WRONG,
    config=wrong_here,
    effect={"mirrored": Effect.DIES, "parameter_server": Effect.BLOCKS},
    says={
        "check": told("spec-differs", *WRONG),
        "run": told("spec-differs wrong-port", *WRONG),
        "attach/parameter_server": told("spec-differs wrong-port", *WRONG),
    },
)
