"""Which strikes are tried: on whom, in which workload, when, and at which pace."""

from collections.abc import Iterator
from functools import partial

from bench.fault import SILENT, told
from bench.strike import SLOW_S, Moment
from bench.striking import Scenario

MIRRORED = partial(Scenario, workload="mirrored")
SERVERS = partial(Scenario, workload="parameter_server")
SESSION = partial(Scenario, workload="session")
EVALUATES = ("--evaluate-every-s", "8", "--evaluate-for-s", "20")

# A few of every kind, for every change: what takes a cluster at most half a minute.
QUICK = (
    "killed-mirrored-worker-1",
    "stopped-mirrored-worker-2",
    "deadlock-mirrored-worker-1",
    "livelock-parameter_server-chief-0",
    "exit-0-mirrored-worker-1",
)


def scenarios() -> list[Scenario]:
    return [*deaths(), *standstills(), *slowness(), *networks(), *limits(), *healthy()]


def deaths() -> Iterator[Scenario]:
    """Somebody is gone."""
    yield MIRRORED(strike="killed", task="worker:0")
    yield MIRRORED(strike="killed", task="worker:1")
    yield MIRRORED(strike="killed", task="worker:1", moment=Moment.START)
    yield MIRRORED(strike="killed", task="worker:2", moment=Moment.FIRST_STEP)
    yield MIRRORED(strike="killed", task="worker:0", moment=Moment.CHECKPOINT)
    yield MIRRORED(strike="killed", task="worker:1", moment=Moment.END)
    yield MIRRORED(strike="killed", task="worker:1", step_ms=5_000, step_by="computing")
    for task in ("chief:0", "ps:0", "worker:1"):
        yield SERVERS(strike="killed", task=task)
    yield SERVERS(strike="killed", task="ps:0", moment=Moment.CHECKPOINT)
    for task in ("ps:0", "worker:0", "worker:1"):
        yield SESSION(strike="killed", task=task)
    yield MIRRORED(strike="terminated", task="worker:1")
    yield SERVERS(strike="terminated", task="worker:1")
    yield SESSION(strike="terminated", task="worker:1")
    yield MIRRORED(strike="segfault", task="worker:2")
    yield SERVERS(strike="segfault", task="worker:1")
    yield SESSION(strike="segfault", task="ps:0")
    yield MIRRORED(strike="aborted", task="worker:0")
    yield SERVERS(strike="aborted", task="ps:0")
    yield MIRRORED(strike="exception", task="worker:1")
    yield MIRRORED(strike="exception", task="worker:0", moment=Moment.FIRST_STEP)
    yield SERVERS(strike="exception", task="chief:0")
    yield SESSION(strike="exception", task="worker:0")
    yield MIRRORED(strike="exit-0", task="worker:1")
    yield SERVERS(strike="exit-0", task="ps:0")
    yield SESSION(strike="exit-0", task="worker:1")
    yield MIRRORED(strike="restarted", task="worker:1")
    yield SERVERS(strike="restarted", task="ps:0")
    yield SERVERS(strike="restarted", task="worker:1")
    yield SESSION(strike="restarted", task="ps:0")
    yield MIRRORED(strike="port-stolen", task="worker:1", moment=Moment.START)
    yield MIRRORED(strike="other-shape", task="worker:1")
    yield MIRRORED(strike="other-dtype", task="worker:1")
    yield MIRRORED(strike="other-graph", task="worker:1")
    yield SESSION(strike="other-shape", task="worker:1")
    yield SESSION(strike="other-dtype", task="worker:1")
    yield SESSION(strike="other-graph", task="worker:1", within_s=SLOW_S)
    yield MIRRORED(strike="other-input", task="worker:1")
    for workload in (MIRRORED, SERVERS, SESSION):
        yield workload(strike="other-version", task="worker:1", moment=Moment.START)


def standstills() -> Iterator[Scenario]:
    """Somebody lives and does not go on."""
    at_start = told("stopped stalled-at-start", "worker:1")
    yield MIRRORED(strike="stopped", task="worker:0")
    yield MIRRORED(strike="stopped", task="worker:2")
    yield MIRRORED(strike="stopped", task="worker:1", moment=Moment.START, told=at_start)
    yield MIRRORED(strike="stopped", task="worker:1", moment=Moment.FIRST_STEP)
    yield MIRRORED(strike="stopped", task="worker:1", step_ms=10_000, step_by="computing")
    yield MIRRORED(strike="stopped", task="worker:1", step_ms=30_000, step_by="computing")
    for task in ("chief:0", "ps:0", "worker:1"):
        yield SERVERS(strike="stopped", task=task)
    for task in ("ps:0", "worker:1"):
        yield SESSION(strike="stopped", task=task)
    yield SERVERS(strike="frozen", task="worker:1")
    yield MIRRORED(strike="debugged", task="worker:1")
    yield MIRRORED(strike="deadlock", task="worker:1")
    yield MIRRORED(strike="deadlock", task="worker:0", moment=Moment.CHECKPOINT)
    yield MIRRORED(strike="deadlock", task="worker:1", step_ms=2_000, step_by="computing")
    yield MIRRORED(strike="deadlock", task="worker:1", step_ms=30_000)
    yield SERVERS(strike="deadlock", task="chief:0")
    yield SESSION(strike="deadlock", task="worker:0")
    yield MIRRORED(strike="self-deadlock", task="worker:2")
    yield SESSION(strike="self-deadlock", task="worker:1")
    yield SERVERS(strike="orphaned-lock", task="chief:0")
    yield MIRRORED(strike="livelock", task="worker:1")
    yield MIRRORED(strike="livelock", task="worker:0", step_ms=10_000)
    yield SERVERS(strike="livelock", task="chief:0")
    yield SESSION(strike="livelock", task="worker:1")
    yield MIRRORED(strike="frozen-disk", task="worker:0")
    yield SERVERS(strike="frozen-disk", task="chief:0")
    yield SESSION(strike="frozen-disk", task="worker:0")


def slowness() -> Iterator[Scenario]:
    """All goes on, but not as it should."""
    yield MIRRORED(strike="straggler", task="worker:1")
    yield MIRRORED(strike="straggler", task="worker:2", step_ms=500, step_by="computing")
    yield MIRRORED(strike="slow-input", task="worker:1")
    yield SESSION(strike="slow-input", task="worker:1")
    yield MIRRORED(strike="cpu-quota", task="worker:1", step_by="computing")
    yield SERVERS(strike="cpu-quota", task="worker:1", step_by="computing")
    yield SESSION(strike="cpu-quota", task="ps:0", step_ms=5)
    yield MIRRORED(strike="cpu-hogs", task="worker:0", step_by="computing")


def networks() -> Iterator[Scenario]:
    """Between hosts."""
    yield MIRRORED(strike="isolated", task="worker:1")
    yield MIRRORED(strike="isolated", task="worker:0")
    yield SERVERS(strike="isolated", task="worker:1")
    yield SERVERS(strike="isolated", task="ps:0")
    yield SESSION(strike="isolated", task="ps:0")
    yield MIRRORED(strike="cut-off", task="worker:1")
    yield SERVERS(strike="cut-off", task="worker:1")
    yield SESSION(strike="cut-off", task="worker:1")
    yield MIRRORED(strike="cut-one-way", task="worker:1")
    yield MIRRORED(strike="lossy", task="worker:1")
    yield MIRRORED(strike="delayed", task="worker:1")
    yield MIRRORED(strike="cut-shortly", task="worker:1")
    yield SESSION(strike="cut-shortly", task="ps:0")


def limits() -> Iterator[Scenario]:
    """Memory, files, disks."""
    yield MIRRORED(strike="out-of-memory", task="worker:1")
    yield SERVERS(strike="out-of-memory", task="ps:0")
    yield SESSION(strike="out-of-memory", task="worker:1")
    yield SERVERS(strike="memory-pressure", task="ps:0")
    yield MIRRORED(strike="memory-pressure", task="worker:2")
    yield MIRRORED(strike="many-files", task="worker:1")
    yield SESSION(strike="many-files", task="worker:0")
    yield MIRRORED(strike="disk-full", task="worker:0")
    yield SERVERS(strike="disk-full", task="chief:0")
    yield SESSION(strike="disk-full", task="worker:0")


def healthy() -> Iterator[Scenario]:
    """Nobody may be accused."""
    yield MIRRORED(strike="paused", task="worker:1")
    yield SERVERS(strike="paused", task="ps:0")
    yield SESSION(strike="paused", task="worker:0")
    yield MIRRORED(strike="flood", task="worker:1")
    yield SERVERS(strike="flood", task="chief:0")
    yield MIRRORED(strike="terminal-stopped", task="worker:0")
    yield SERVERS(strike="supervisor-paused", task="chief:0")
    yield MIRRORED(strike="nothing", task="worker:0", options=EVALUATES)
    yield SERVERS(strike="nothing", task="chief:0", options=EVALUATES)
    yield SESSION(strike="nothing", task="worker:0", moment=Moment.FIRST_STEP, told=SILENT)
    yield MIRRORED(strike="nothing", task="worker:0", step_ms=4_000, step_by="computing")
