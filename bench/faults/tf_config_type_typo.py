"""A role that the cluster does not have."""

from bench.fault import Config, one_definition, told


def spoilt(config: Config) -> Config:
    return {**config, "task": {"type": "workers", "index": 1}}


fault = one_definition(
    spoilt, causes="spec-wrong-task", checked=told("spec-wrong-task", "workers:1")
)
