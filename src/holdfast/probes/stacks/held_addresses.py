"""The addresses that a program has in its variables: nothing else of them is kept.

A start that stands may look for a peer at an address which only the program knows. Variables hold
secrets, too: so only numbers of hosts, localhost and names with dots leave this file, with a port.
"""

import json
from collections.abc import Iterator
from typing import Any

from holdfast.model.pattern import Pattern
from holdfast.probes.stacks.py_spy import NoPySpy, program, told_by

ADDRESSES_MAX = 64
FRAMES_MAX = 200
ADDRESS = Pattern(
    r"(?:^|[\"'\s\[(/])"
    r"(?P<address>(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[a-z][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){1,5})"
    r":[1-9]\d{3,4})(?:$|[\"'\s\]),])"
)


def held_addresses(pid: int) -> tuple[str, ...]:
    """As its Python frames have them now; none where they cannot be read."""
    try:
        command = [program(), "dump", "--nonblocking", "--json", "--locals", "--locals"]
        code, out, _ = told_by([*command, "--pid", str(pid)])
        told = json.loads(out) if code == 0 else []
    except (NoPySpy, OSError, ValueError, RecursionError):
        return ()
    return tuple(sorted(set(_addresses(told))))[:ADDRESSES_MAX]


def _addresses(told: Any) -> Iterator[str]:
    """From JSON of a stranger's memory."""
    for thread in told if isinstance(told, list) else ():
        frames = thread.get("frames") if isinstance(thread, dict) else None
        for frame in frames[:FRAMES_MAX] if isinstance(frames, list) else ():
            held = frame.get("locals") if isinstance(frame, dict) else None
            for one in held if isinstance(held, list) else ():
                text = one.get("repr") if isinstance(one, dict) else None
                if isinstance(text, str):
                    yield from (found.group("address") for found in ADDRESS.each(text))
