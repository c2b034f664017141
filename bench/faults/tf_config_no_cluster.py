"""A TF_CONFIG without a cluster: a mirrored worker trains alone, the others wait."""

from bench.fault import Config, Effect, one_definition, told


def spoilt(config: Config) -> Config:
    return {"task": config["task"]}


fault = one_definition(
    spoilt,
    causes="spec-without-cluster",
    checked=told("spec-without-cluster", "worker:1"),
    mirrored=Effect.BLOCKS,
)
