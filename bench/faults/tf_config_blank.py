"""A blank before a worker's own address: TensorFlow takes it."""

from bench.fault import Config, Effect, address_of, one_definition, with_address


def spoilt(config: Config) -> Config:
    return with_address(config, "worker:1", f" {address_of(config, 'worker:1')}")


fault = one_definition(spoilt, causes="", mirrored=Effect.TRAINS, others=Effect.TRAINS)
