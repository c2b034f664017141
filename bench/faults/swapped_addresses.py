"""The chief takes a parameter server for a worker and the other way round, and trains."""

from bench.fault import Config, Effect, Fault, address_of, told, with_address

WRONG = "chief:0"


def swapped(task: str, config: Config) -> Config:
    if task != WRONG:
        return config
    ps, worker = address_of(config, "ps:0"), address_of(config, "worker:0")
    return with_address(with_address(config, "ps:0", worker), "worker:0", ps)


fault = Fault(
    tasks=(WRONG,),
    config=swapped,
    effect={"parameter_server": Effect.TRAINS},
    says={
        "check": told("spec-differs", WRONG),
        "run": told("spec-differs wrong-task-answers", WRONG),
        "attach": told("spec-differs wrong-task-answers", WRONG),
    },
)
