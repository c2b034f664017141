"""How a job distributes its training, by what was seen of it, and who of it may come back alone.

Measured on TensorFlow 2.15 and 2.21: a MultiWorkerMirrored worker that is started again cannot
rejoin, and its peers die of the first death; the chief of a ParameterServerStrategy takes a
worker back without a word, and dies of a lost ps, even one that is back at once; a TensorFlow 1
worker connects again by itself, and with its ps the variables are gone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.cluster import TaskId, chief_of
from holdfast.model.facts import Fact, LogLine, TracebackSeen
from holdfast.model.pattern import Pattern
from holdfast.model.recovery_facts import ProgramRead
from holdfast.model.watch_facts import StacksSeen
from holdfast.model.words import listed


class Strategy(StrEnum):
    MIRRORED = "MultiWorkerMirroredStrategy"
    PARAMETER_SERVER = "ParameterServerStrategy"
    SESSION = "MonitoredTrainingSession"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Recognised:
    strategy: Strategy
    why: str


# What only a program that works this way calls, names its threads or writes.
_AT_WORK = {
    Strategy.MIRRORED: Pattern(
        r"collective_all_reduce_strategy|MultiWorkerMirroredStrategy|Aborting Ring(?:Reduce|Gather)"
        r"|while calling CompleteInstance"
    ),
    Strategy.PARAMETER_SERVER: Pattern(
        r"parameter_server_strategy_v2|cluster_coordinator|WorkerClosureProcessingLoop"
        r"|ClusterCoordinator|PSUnavailableError|Remote function on worker /job:"
        r"|Worker /job:\w+/replica:\d+/task:\d+ failed with"
    ),
    Strategy.SESSION: Pattern(
        r"monitored_session|MonitoredTrainingSession|basic_session_run_hooks|tensorflow_estimator"
        r"|CreateSession still waiting for response|Waiting for model to be ready"
        r"|may be due to a preemption in a connected worker or parameter server"
        r"|INFO:tensorflow:(?:Graph was finalized|Running local_init_op|Saving checkpoints for)"
    ),
}
# A program may know several ways, and choose by a flag.
_IN_PROGRAM = {
    "MultiWorkerMirroredStrategy": Strategy.MIRRORED,
    "CollectiveAllReduceStrategy": Strategy.MIRRORED,
    "ParameterServerStrategy": Strategy.PARAMETER_SERVER,
    "ClusterCoordinator": Strategy.PARAMETER_SERVER,
    "MonitoredTrainingSession": Strategy.SESSION,
    "SessionRunHook": Strategy.SESSION,
    "tf.estimator": Strategy.SESSION,
    "compat.v1.estimator": Strategy.SESSION,
}
# It makes all workers save and leave with one exit code when one of them gets SIGTERM.
SAVES_AND_LEAVES = "PreemptionCheckpointHandler"
# Others have this service, too, if they are told to.
_COORDINATED = Pattern(r"coordination[_ ]service|CoordinationService/")


def mentions_in(program: str) -> tuple[str, ...]:
    """The telling words of a program's text, for `ProgramRead`."""
    return tuple(word for word in (*_IN_PROGRAM, SAVES_AND_LEAVES) if word in program)


def recognise(facts: Iterable[Fact], tasks: Sequence[TaskId]) -> Recognised:
    """By the surest signs there are; where these differ, nobody knows."""
    known = tuple(facts)
    for where, signs in (
        ("by what its tasks do and write", _at_work(known)),
        ("by the words of its program", _in_program(known)),
        ("by the coordination service that it uses", _coordinated(known)),
    ):
        found = sorted(set(signs))
        if len(found) > 1:
            return Recognised(Strategy.UNKNOWN, f"{where} it may be {listed(found)}")
        if found:
            return _that_fits(found[0], where, tasks)
    return Recognised(Strategy.UNKNOWN, "nothing that was seen tells how it is distributed")


def _that_fits(strategy: Strategy, where: str, tasks: Sequence[TaskId]) -> Recognised:
    """Hooks and sessions are used without parameter servers, too: by Horovod, for one."""
    has_ps = any(task.role == "ps" for task in tasks)
    if has_ps is (strategy is not Strategy.MIRRORED):
        return Recognised(strategy, f"{where} it is {strategy}")
    but = "has parameter servers" if has_ps else "has no parameter server"
    return Recognised(Strategy.UNKNOWN, f"{where} it is {strategy}, but the job {but}")


def _at_work(facts: Iterable[Fact]) -> Iterator[Strategy]:
    for text in _texts(facts):
        for strategy, pattern in _AT_WORK.items():
            if pattern.search(text):
                yield strategy


def _texts(facts: Iterable[Fact]) -> Iterator[str]:
    for fact in facts:
        match fact:
            case LogLine():
                yield fact.text
            case TracebackSeen():
                yield from (*fact.frames, fact.exception, fact.message)
            case StacksSeen():
                for thread in fact.threads:
                    yield from (thread.name, *thread.frames)


def _in_program(facts: Iterable[Fact]) -> Iterator[Strategy]:
    for fact in facts:
        if isinstance(fact, ProgramRead):
            yield from (_IN_PROGRAM[word] for word in fact.mentions if word in _IN_PROGRAM)


def _coordinated(facts: Iterable[Fact]) -> Iterator[Strategy]:
    lines = (fact.text for fact in facts if isinstance(fact, LogLine))
    yield from (Strategy.MIRRORED for text in lines if _COORDINATED.search(text))


def why_all(strategy: Strategy, task: TaskId, tasks: Sequence[TaskId]) -> str:
    """Why the others must be relaunched with a task that failed; empty: it may restart alone."""
    if task.role == "evaluator":
        return ""  # it only reads checkpoints, and no member of the cluster knows it
    if strategy is Strategy.UNKNOWN:
        return "nobody knows whether one task of this job may come back alone"
    if strategy is Strategy.MIRRORED:
        return "a MultiWorkerMirrored task that is started again cannot rejoin"
    if task.role == "ps":
        return f"the variables of {task} are gone"
    if task.role == "chief" or _leads(strategy, task, tasks):
        return f"{task} is the job: it leads the training and writes the checkpoints"
    return ""


def _leads(strategy: Strategy, task: TaskId, tasks: Sequence[TaskId]) -> bool:
    """In TensorFlow 1 the first worker is the chief where no other is."""
    has_chief = any(member.role == "chief" for member in tasks)
    return strategy is Strategy.SESSION and not has_chief and task == TaskId("worker", 0)


def dooms(task: TaskId, tasks: Sequence[TaskId]) -> bool:
    """Whether the others cannot finish without a task, whatever their strategy is.

    With parameter servers, workers are independent of one another: the chief trains on
    without a dead one. Without them, every worker takes part in every step.
    """
    has_ps = any(member.role == "ps" for member in tasks)
    in_each_step = task.role == "worker" and not has_ps
    return task.role == "ps" or task == chief_of(tasks) or in_each_step
