"""An index that the list of addresses does not have."""

from bench.fault import Config, one_definition, told


def spoilt(config: Config) -> Config:
    return {**config, "task": {"type": "worker", "index": 5}}


fault = one_definition(
    spoilt, causes="spec-wrong-task", checked=told("spec-wrong-task", "worker:5")
)
