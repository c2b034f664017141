"""An index in quotes: TensorFlow takes it."""

from bench.fault import Config, Effect, one_definition


def spoilt(config: Config) -> Config:
    return {**config, "task": {"type": "worker", "index": "1"}}


fault = one_definition(spoilt, causes="", mirrored=Effect.TRAINS, others=Effect.TRAINS)
