"""Tracebacks are read from a task's output, whatever its framework puts before their lines."""

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, TracebackSeen
from holdfast.model.pattern import AnyOf, Pattern
from holdfast.probes.output import Listener

CHAIN = """Traceback (most recent call last):
  File "/home/user/train.py", line 2, in read
    return rows[3]
IndexError: list index out of range

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/user/train.py", line 5, in close
    handle.close()
AttributeError: no close
"""


def heard(text: str, *, bytes_at_once: int = 1 << 16) -> list[TracebackSeen]:
    telling = AnyOf((Pattern("nothing"),))
    listener = Listener(host="host-a", task=TaskId("worker", 0), stream="err", telling=telling)
    raw = text.encode()
    facts: list[Fact] = []
    for start in range(0, len(raw), bytes_at_once):
        facts += listener.feed(raw[start : start + bytes_at_once], 1.0)
    facts += listener.end(2.0)
    return [fact for fact in facts if isinstance(fact, TracebackSeen)]


def labelled(text: str, label: str) -> str:
    return "".join(f"{label}{line}\n" for line in text.splitlines())


def test_two_tracebacks_that_python_joins_are_known_to_hang_together() -> None:
    first, second = heard(CHAIN, bytes_at_once=7)
    assert (first.exception, first.follows) == ("IndexError", "")
    assert (second.exception, second.follows) == ("AttributeError", "context")
    caused = CHAIN.replace(
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
    )
    assert [one.follows for one in heard(caused)] == ["", "cause"]


def test_tracebacks_with_something_between_them_do_not_hang_together() -> None:
    apart = CHAIN.replace("occurred:\n", "occurred:\nepoch 1 of 20, loss 0.25, going on\n")
    assert [one.follows for one in heard(apart)] == ["", ""]
    assert [one.follows for one in heard(CHAIN.replace("During", "INFO: During"))] == ["", ""]


def test_a_label_that_stands_before_every_line_is_no_part_of_a_traceback() -> None:
    first, second = heard(labelled(CHAIN, "[rank0]: "))
    assert first.frames == ("/home/user/train.py:2 read: return rows[3]",)
    assert (second.message, second.follows) == ("no close", "context")


def test_a_word_before_the_header_alone_does_no_harm() -> None:
    (found,) = heard("worker failed: " + CHAIN.partition("\n\n")[0] + "\n")
    assert (found.exception, found.message) == ("IndexError", "list index out of range")
