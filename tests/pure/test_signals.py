"""Signals have names that people know."""

import signal

import pytest

from holdfast.model.signals import CRASHES, signal_name, signal_number


@pytest.mark.parametrize(
    ("number", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), (11, "SIGSEGV"), (99, "signal 99")]
)
def test_a_signal_is_called_by_its_name(number: int, name: str) -> None:
    assert signal_name(number) == name
    assert name.startswith("signal") or signal_number(name) == number


def test_nobody_sends_a_crash() -> None:
    assert not CRASHES & {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
