"""One worker looks for the parameter server where nobody listens: a session blocks, alone."""

from bench.fault import Config, Effect, Fault, address_of, closed_port, told, with_address

WRONG = "worker:1"


def wrong_here(task: str, config: Config) -> Config:
    if task != WRONG:
        return config
    return with_address(config, "ps:0", closed_port(address_of(config, "ps:0")))


fault = Fault(
    tasks=(WRONG,),
    config=wrong_here,
    # A chief of a parameter server strategy sends its own definition to all the others, and in
    # a session worker 0 trains alone.
    effect={"parameter_server": Effect.TRAINS, "session": Effect.TRAINS},
    says={
        "check/parameter_server": told("spec-differs", WRONG, None),  # it harms nobody
        "check/session": told("spec-differs", WRONG),
        "run/session": told("spec-differs wrong-port", WRONG),
        "attach": told("spec-differs wrong-port", WRONG),
    },
)
