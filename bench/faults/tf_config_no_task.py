"""A TF_CONFIG that does not say who it is for."""

from bench.fault import Config, one_definition, told


def spoilt(config: Config) -> Config:
    return {"cluster": config["cluster"]}


fault = one_definition(
    spoilt,
    causes="spec-wrong-task bad-tf-config",  # with parameter servers it may be meant
    checked=told("spec-wrong-task", "worker:1", None),
)
