"""Of a task that failed, its last words may prove more than that it ended with an exception."""

from typing import Any

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, LastWords, TaskExited, TracebackSeen

WORKER, OTHER = TaskId("worker", 1), TaskId("worker", 0)
HERE: dict[str, Any] = {"host": "host-a"}
BEGAN = AttemptStarted(
    at_s=0.0, began_unix_s=0.0, tasks=("worker:0", "worker:1"), holdfast="0.1.0", **HERE
)
FAILED = TaskExited(at_s=9.0, task=WORKER, exit_code=1, **HERE)


def raised(exception: str, message: str) -> TracebackSeen:
    frames = ("/home/user/train.py:9 <module>: train()",)
    return TracebackSeen(
        at_s=8.0, task=WORKER, exception=exception, message=message, frames=frames, line=3, **HERE
    )


def said(*lines: str) -> LastWords:
    return LastWords(at_s=9.0, task=WORKER, lines=lines, **HERE)


def found(*facts: Fact) -> list[tuple[str, str]]:
    diagnosis = diagnose(Evidence([BEGAN, *facts]))
    return [(one.name, str(one.proof.culprit)) for one in diagnosis.findings]


SHAPES = raised("ValueError", "operands could not be broadcast together with shapes (3,) (4,)")


def test_an_exception_that_says_why_is_told_as_that() -> None:
    last = "ValueError: operands could not be broadcast together with shapes (3,) (4,)"
    assert found(SHAPES, said(last), FAILED) == [("shape-mismatch", "worker:1")]


def test_an_exception_that_says_nothing_is_an_exception() -> None:
    plain = raised("ValueError", "no such flag")
    assert found(plain, said("ValueError: no such flag"), FAILED) == [
        ("user-exception", "worker:1")
    ]


def test_who_goes_on_has_not_ended_over_it() -> None:
    assert found(SHAPES) == []
    done = TaskExited(at_s=9.0, task=WORKER, exit_code=0, **HERE)
    assert found(SHAPES, done) == []


def test_without_a_traceback_the_last_lines_count_and_noise_does_not() -> None:
    noise = "E0000 Unable to register cuDNN factory: Attempting to register factory for plugin"
    words = said("Fatal Python error: Segmentation fault", noise)
    assert [name for name, _ in found(words, FAILED)] != []


def test_what_is_known_better_stays() -> None:
    """A missing module is proven by itself, whatever its message sounds like."""
    seen = raised("ModuleNotFoundError", "No module named 'shapes'")
    assert found(seen, said("ModuleNotFoundError: No module named 'shapes'"), FAILED) == [
        ("missing-library", "worker:1")
    ]
