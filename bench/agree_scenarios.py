"""Which differences between tasks are tried, in which kind of training, and what must be said."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from bench.cluster import Workload
from bench.fault import SILENT, Told, told

OTHER_ENV = "tensorflow-2.15"
ODD = "worker:1"
# Three that build: two against one tell who is odd. Of two, nobody knows. Keras 3 cannot fit a
# model under MultiWorkerMirroredStrategy, so that this is Keras 2.
WORKLOADS = {
    "keras": Workload("keras_fit", {"worker": 3}, ("--agree",), env=OTHER_ENV),
    "keras-made": Workload("keras_fit", {"worker": 3}, ("--agree", "--agree-made"), env=OTHER_ENV),
    "loop": Workload("mirrored", {"worker": 3}, ("--agree",)),
    "loop-of-two": Workload("mirrored", {"worker": 2}, ("--agree",)),
    "session": Workload("session", {"ps": 1, "worker": 3}, ("--agree",)),
    "session-of-two": Workload("session", {"ps": 1, "worker": 2}, ("--agree",)),
    "estimator": Workload(
        "estimator", {"chief": 1, "ps": 1, "worker": 2}, ("--agree",), env=OTHER_ENV
    ),
    "estimator-input": Workload(
        "estimator",
        {"chief": 1, "ps": 1, "worker": 2},
        ("--agree", "--agree-input"),
        env=OTHER_ENV,
    ),
    "servers": Workload("parameter_server", {"chief": 1, "ps": 1, "worker": 2}, ("--agree",)),
}
QUICK = ("loop-shape",)  # for every change: half a minute
VARIABLE, GRAPH, VERSION = "variable-mismatch", "graph-differs", "version-differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    workload: str
    differs: str = ""  # as workloads call it; empty: nothing does
    task: str = ODD  # who differs
    told: Told = SILENT
    thing: str = ""  # what the finding must name
    stops: bool = True  # whether nobody may train over it
    env: str = ""  # the environment of that task, where it is another one
    more: str = ""  # of the name

    @property
    def name(self) -> str:
        return f"{self.workload}-{self.more or self.differs or 'healthy'}"


def scenarios() -> list[Scenario]:
    return [*of_variables(), *of_graphs(), *of_inputs(), *of_versions(), *of_nothing()]


def of_variables() -> Iterator[Scenario]:
    made = partial(Scenario, told=told(VARIABLE, ODD))
    yield made(workload="keras-made", differs="dtype", thing="hidden/")
    yield made(workload="keras-made", differs="shape", thing="kernel")
    for workload in ("loop", "session", "estimator"):
        for differs in ("dtype", "shape"):
            yield made(workload=workload, differs=differs, thing="variable bias")
    nobody = partial(Scenario, differs="shape", told=told(VARIABLE, None), thing="variable bias")
    for workload in ("loop-of-two", "session-of-two"):
        yield nobody(workload=workload)
    yield Scenario(
        workload="session",
        differs="shape",
        task="worker:0",
        told=told(VARIABLE, "worker:0"),
        thing="variable bias",
        more="shape-of-the-chief",
    )


def of_graphs() -> Iterator[Scenario]:
    made = partial(Scenario, told=told(GRAPH, ODD))
    yield made(workload="keras-made", differs="graph", thing="extra/")
    yield made(workload="keras-made", differs="optimizer", thing="optimizer class")
    # Under the strategy, the first worker gives all of them its own rate.
    yield made(workload="keras-made", differs="rate", thing="optimizer learning_rate")
    yield made(workload="keras", differs="loss", thing="loss function")
    yield made(workload="loop", differs="graph", thing="variable extra")
    for workload in ("session", "estimator"):
        yield made(workload=workload, differs="graph", thing="variable extra")
        yield made(workload=workload, differs="optimizer", thing="variable bias/Adagrad")
        yield made(workload=workload, differs="loss", thing="graph op Abs", stops=False)


def of_inputs() -> Iterator[Scenario]:
    made = partial(Scenario, told=told(GRAPH, ODD))
    borne = partial(Scenario, differs="batch", thing="input batch size", stops=False)
    for workload in ("keras", "loop", "session", "estimator"):
        yield made(workload=workload, differs="element", thing="input element[1]")
    for workload in ("keras", "loop", "session", "estimator-input"):
        yield made(workload=workload, differs="sharding", thing="input sharding")
        yield borne(workload=workload, told=told(GRAPH, None))
    yield made(workload="loop", differs="shard", thing="input number of shards")


def of_versions() -> Iterator[Scenario]:
    """Of a real second environment; where one cannot be had, a task only says so."""
    elsewhere = partial(Scenario, thing="tensorflow 2.15", stops=False, env=OTHER_ENV)
    for workload in ("loop", "session", "servers"):
        yield elsewhere(workload=workload, told=told(VERSION, ODD), more="version")
    yield elsewhere(workload="servers", task="ps:0", told=told(VERSION, "ps:0"), more="ps-version")
    pretended = partial(Scenario, differs="version", thing="tensorflow 2.99", stops=False)
    for workload in ("keras", "estimator"):
        yield pretended(workload=workload, told=told(VERSION, ODD), more="version-pretended")


def of_nothing() -> Iterator[Scenario]:
    """Nobody differs; or one task never compares, and nobody waits for it for ever."""
    for workload in ("keras-made", "loop", "session", "estimator", "servers"):
        yield Scenario(workload=workload, stops=False)
    for workload in ("keras", "loop", "session"):
        yield Scenario(workload=workload, differs="silence", stops=False)
