"""A worker's own address without its port."""

from bench.fault import Config, address_of, one_definition, told, with_address


def spoilt(config: Config) -> Config:
    return with_address(config, "worker:1", address_of(config, "worker:1").rpartition(":")[0])


fault = one_definition(
    spoilt, causes="spec-bad-address", checked=told("spec-bad-address", "worker:1")
)
