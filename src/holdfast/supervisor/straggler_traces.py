"""Takes a trace of each task that keeps the others waiting: once, and one at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from holdfast.agent.trace_request import TraceRequest
from holdfast.coordinator.telling import Tell
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import HoldfastError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Finding
from holdfast.model.orders import Order
from holdfast.model.tracing import to_be_traced
from holdfast.model.watch_facts import TraceTaken

CAUSE = "straggler"
Batch = list[Fact]


class StragglerTraces:
    """A source of the loop: it looks now and then whether a trace has come, or is to be taken."""

    def __init__(self, run_dir: RunDir, *, seconds: float, where: Callable[[], Any]) -> None:
        self._run_dir = run_dir
        self._seconds = seconds  # 0: nobody wants any
        self._where = where
        self._wanted: dict[TaskId, None] = {}  # in the order in which they were told
        self._request: TraceRequest | None = None
        self.facts: Callable[[], Sequence[Fact]] = list  # what is known of this attempt

    def hearing(self, tell: Tell) -> Tell:
        """As `tell`, and we hear it, too."""

        def told(finding: Finding, evidence: Evidence) -> None:
            tell(finding, evidence)
            culprit = finding.proof.culprit
            if self._seconds and finding.name == CAUSE and culprit is not None:
                self._wanted[culprit] = None

        return told

    def waitables(self) -> dict[int, Callable[[], Iterator[Batch]]]:
        return {}

    def obey(self, order: Order) -> Iterator[Batch]:
        return iter(())

    def look(self) -> Iterator[Batch]:
        if not self._wanted:
            return
        try:
            yield from self._step()
        except (HoldfastError, OSError) as error:
            task = self._request.task if self._request else next(iter(self._wanted))
            yield self._done(task, {"error": getattr(error, "message", str(error))})

    def _step(self) -> Iterator[Batch]:
        request = self._request
        if request is None:
            task = to_be_traced(self.facts(), self._wanted)
            if task is not None:
                self._request = TraceRequest(self._run_dir, task, self._seconds)
        elif (answer := request.look()) is not None:
            yield self._done(request.task, answer)
        elif not request.is_taken and to_be_traced(self.facts(), [request.task]) is None:
            request.withdraw()
            self._request = None

    def _done(self, task: TaskId, answer: dict[str, object]) -> Batch:
        folder = self._request.traces if self._request else ""
        self._wanted.pop(task, None)
        self._request = None
        steps = (answer.get("from_step"), answer.get("to_step"))
        first, last = (step if isinstance(step, int) else -1 for step in steps)
        return [
            TraceTaken(
                task=task,
                folder=folder,
                seconds=self._seconds,
                from_step=first,
                to_step=last,
                error=str(answer.get("error") or "")[:400],
                **self._where(),
            )
        ]
