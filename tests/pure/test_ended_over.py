"""Of a task that failed, its last words may prove more than that it ended with an exception."""

from dataclasses import replace
from typing import Any

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, LastWords, TaskExited, TracebackSeen
from holdfast.model.told_facts import ExceptionLeft

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


def test_a_server_that_is_named_in_the_words_is_the_culprit() -> None:
    """It lives on, and only says no: who asked it for memory ends with its words."""
    oom = "OOM when allocating tensor with shape[4000000,512] and type float on"
    for whom, culprit in (("ps", "ps:0"), ("worker", "worker:1")):
        index = culprit[-1]
        words = f"{oom} /job:{whom}/replica:0/task:{index}/device:CPU:0 by allocator mklcpu"
        seen = raised("tensorflow.errors.ResourceExhaustedError", words)
        began = replace(BEGAN, tasks=("ps:0", *BEGAN.tasks))
        (told,) = diagnose(Evidence([began, seen, FAILED])).findings
        assert (told.name, str(told.proof.culprit)) == ("allocation-failed", culprit)
        assert told.proof.seen_at in {None, WORKER}


def opened(task: TaskId, path: str, mode: str = "a") -> tuple[Fact, Fact]:
    """HDF5 could not open a file, and says neither which one nor why it is so."""
    words = "Unable to synchronously open file (truncated file: eof = 96, stored_eof = 2048)"
    left = ExceptionLeft(
        at_s=8.9, task=task, exception="OSError", message=words, file=path, mode=mode, **HERE
    )
    return left, TaskExited(at_s=9.0, task=task, exit_code=1, **HERE)


def says(*facts: Fact) -> list[str]:
    return [one.proof.says for one in diagnose(Evidence([BEGAN, *facts])).findings]


def test_the_file_that_could_not_be_opened_is_named() -> None:
    (alone,) = says(*opened(WORKER, "/data/all.h5"))
    assert alone.endswith("; it is /data/all.h5, opened with mode a")


def test_others_that_opened_it_for_writing_are_named() -> None:
    both = says(*opened(WORKER, "/data/all.h5"), *opened(OTHER, "/data/all.h5", "r+"))
    assert all(one.count("worker:0") == one.count("worker:1") == 1 for one in both)
    assert "; it is /data/all.h5, opened with mode a, and by worker:0 with mode r+" in both[-1]
    others = (opened(OTHER, "/data/all.h5", "r"), opened(OTHER, "/data/other.h5"))
    for other in others:
        told = says(*opened(WORKER, "/data/all.h5"), *other)
        assert [one for one in told if one.startswith("worker:1") and "and by" in one] == []
