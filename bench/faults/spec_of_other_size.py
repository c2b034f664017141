"""One worker knows of one worker less than the others do."""

from bench.fault import Config, Effect, Fault, told

WRONG = "worker:1"


def smaller(task: str, config: Config) -> Config:
    if task == WRONG:
        del config["cluster"]["worker"][2:]
    return config


fault = Fault(
    tasks=(WRONG,),
    config=smaller,
    effect={"mirrored": Effect.DIES},
    says={
        "check": told("spec-differs", WRONG),
        "run": told("spec-differs", WRONG),
    },
)
