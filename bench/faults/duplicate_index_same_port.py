"""Two tasks believe to be worker 1, at one address: the second to come cannot listen there."""

from bench.fault import Config, Effect, Fault, told

TWICE = "worker:2"


def also_one(task: str, config: Config) -> Config:
    if task == TWICE:
        config["task"]["index"] = 1
    return config


fault = Fault(
    tasks=(TWICE,),
    config=also_one,
    effect={"mirrored": Effect.DIES},
    says={
        "check": told("spec-task-twice", TWICE, "worker:1", None),
        "run": told("spec-task-twice spec-wrong-task", TWICE, "worker:1"),
        "attach": told("spec-task-twice never-started refused", TWICE, "worker:1"),
    },
)
