"""Two tasks believe to be worker 1, at two addresses, and nobody is worker 2."""

from bench.fault import Config, Effect, Fault, address_of, told, with_address

TWICE = "worker:2"


def also_one(task: str, config: Config) -> Config:
    if task != TWICE:
        return config
    config["task"]["index"] = 1
    return with_address(config, "worker:1", address_of(config, TWICE))


fault = Fault(
    tasks=(TWICE,),
    config=also_one,
    effect={"mirrored": Effect.DIES},
    says={
        "check": told("spec-task-twice spec-differs spec-duplicate-address", TWICE, "worker:1"),
        "run": told(
            "spec-task-twice spec-wrong-task spec-differs wrong-task-answers", TWICE, "worker:1"
        ),
    },
)
