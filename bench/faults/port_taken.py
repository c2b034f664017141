"""Another program listens where worker 1 should, and answers whoever looks for worker 1."""

import sys

from bench.fault import Config, Effect, Fault, address_of, told


def web_server(config: Config) -> list[str]:
    port = address_of(config, "worker:1").rpartition(":")[2]
    return [sys.executable, "-m", "http.server", port]


fault = Fault(
    tasks=("worker:1",),
    beside=web_server,
    effect={
        "mirrored": Effect.DIES,
        "parameter_server": Effect.DIES,
        "session_unfiltered": Effect.DIES,
    },
    says={
        "check": told("port-conflict not-tensorflow", "worker:1"),
        "run": told("port-conflict", "worker:1"),
        "attach": told("port-conflict not-tensorflow", "worker:1"),
    },
)
