"""Signals, in the words of a person."""

import signal

# A process that raises one of these on itself has crashed; nobody sent it.
CRASHES = frozenset(
    {
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGILL,
        signal.SIGFPE,
        signal.SIGABRT,
        signal.SIGSYS,
        signal.SIGTRAP,
    }
)


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_number(name: str) -> int:
    """9 for SIGKILL. A name that is none is an error of whoever let it in."""
    return signal.Signals[name].value
