"""One worker has the list of workers in another order, and so the leader's port for its own."""

from bench.fault import Config, Effect, Fault, told

WRONG = "worker:1"


def swapped(task: str, config: Config) -> Config:
    workers = config["cluster"]["worker"]
    if task == WRONG:
        workers[0], workers[1] = workers[1], workers[0]
    return config


fault = Fault(
    tasks=(WRONG,),
    config=swapped,
    effect={"mirrored": Effect.DIES},
    says={
        "check": told("spec-differs", WRONG),
        "run": told("spec-differs", WRONG),
    },
)
