"""A proxy variable in small letters sends even loopback traffic to a proxy that is not there."""

from bench.fault import Effect, Fault, told

fault = Fault(
    tasks=("worker:1", "chief:0"),
    # Whoever calls others is hit: in a parameter server strategy that is the chief.
    env={"http_proxy": "http://127.0.0.1:9"},
    effect={"mirrored": Effect.BLOCKS, "parameter_server": Effect.BLOCKS},
    says={
        "run/mirrored": told("proxy-hijack", "worker:1"),
        "run/parameter_server": told("proxy-hijack", "chief:0", None),
        "attach/mirrored": told("proxy-hijack", "worker:1"),
        "attach/parameter_server": told("proxy-hijack", "chief:0", None),
    },
)
