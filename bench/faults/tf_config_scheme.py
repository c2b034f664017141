"""A worker's own address with a scheme in front."""

from bench.fault import Config, address_of, one_definition, told, with_address


def spoilt(config: Config) -> Config:
    return with_address(config, "worker:1", f"grpc://{address_of(config, 'worker:1')}")


fault = one_definition(
    spoilt, causes="spec-bad-address", checked=told("spec-bad-address", "worker:1")
)
