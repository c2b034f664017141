"""A proxy variable in capitals: gRPC does not look at it."""

from bench.fault import SILENT, Effect, Fault

fault = Fault(
    tasks=("worker:1", "chief:0"),
    env={"HTTP_PROXY": "http://127.0.0.1:9"},
    effect={"mirrored": Effect.TRAINS, "parameter_server": Effect.TRAINS},
    says={"run": SILENT, "attach": SILENT},
)
