"""What a program told of itself, as a person reads it."""

from typing import Any

import pytest

from holdfast.model.facts import Fact
from holdfast.model.told_facts import (
    DifferenceTold,
    ErrorTold,
    ExceptionLeft,
    ExceptionLogged,
    LossTold,
)
from holdfast.views.fact_text import fact_text

HERE: Any = {"at_s": 9.0, "host": "host-a"}
SENTENCES: list[tuple[Fact, str]] = [
    (ExceptionLeft(exception="KeyError", message="", **HERE), "it wrote down KeyError"),
    (
        ExceptionLeft(exception="OSError", message="cut", file="/d/x.h5", mode="a", **HERE),
        "it wrote down OSError: cut, of /d/x.h5 (mode a)",
    ),
    (
        ExceptionLeft(
            exception="tensorflow.python.framework.errors_impl.UnavailableError",
            message="lost\nmore",
            frames=(
                "/home/user/train.py:9 step: run()",
                "/usr/lib/python3/x.py:1",
            ),
            op="Send",
            thread="reader",
            step=7,
            named=("ps:0",),
            came_from=("KeyError: 'row'",),
            **HERE,
        ),
        (
            "it wrote down UnavailableError: lost (raised at /home/user/train.py:9 step) in op Send"
            " in thread reader at step 7, about ps:0, from KeyError: 'row'"
        ),
    ),
    (
        LossTold(name="loss", state="nan", step=9, since_step=7, **HERE),
        "its loss is not a number since step 7",
    ),
    (
        LossTold(name="loss", state="diverged", step=9, loss=41.0, first=2.0, **HERE),
        "its loss is 41 at step 9; at the beginning it was 2",
    ),
    (LossTold(name="loss", state="fine", step=9, **HERE), "its loss is a number again at step 9"),
    (
        DifferenceTold(
            about="variable",
            name="kernel",
            values={"float32 [1]": ("worker:0", "worker:2"), "float32 [2]": ("worker:1",)},
            **HERE,
        ),
        (
            "not the same in all tasks: variable kernel (float32 [2] in worker:1; float32 [1] in"
            " worker:0 and worker:2)"
        ),
    ),
    (
        ErrorTold(
            exception="tensorflow.python.framework.errors_impl.UnavailableError",
            message="failed to connect\nmore",
            op="ReadFile",
            named=("ps:0",),
            again=True,
            **HERE,
        ),
        "UnavailableError of ReadFile, about ps:0, tried again: failed to connect",
    ),
    (
        ExceptionLogged(
            path="/data/train.log",
            exception="ValueError",
            message="n/a",
            frames=("/home/user/train.py:9 step: float(row)",),
            times=3,
            **HERE,
        ),
        (
            "it logged ValueError: n/a (raised at /home/user/train.py:9 step), 3 times, in"
            " /data/train.log"
        ),
    ),
    (
        ErrorTold(exception="AbortedError", message="no", tries=6, **HERE),
        "AbortedError, given up after 6: no",
    ),
]


@pytest.mark.parametrize(("fact", "sentence"), SENTENCES)
def test_a_fact_says(fact: Fact, sentence: str) -> None:
    assert fact_text(fact) == sentence
