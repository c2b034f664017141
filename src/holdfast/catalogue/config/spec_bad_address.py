"""An address or a role in a cluster definition cannot work as it is written.

## What you see
`Could not interpret "..." as a host-port pair`, `Could not parse port for local server`, or a
process that aborts with `Invalid device name`. A port above 65535 gives no error at all: it
wraps round, and the task listens where nobody looks for it.

## Why it happens
The port was forgotten, `grpc://` was written in front, a path behind; an IPv6 address lacks its
brackets; a script left a variable empty. A role has a typo, or characters that TensorFlow does
not take into the names of its devices.

## How to confirm it by hand
Read the address that the finding names: it must be `host:port` and nothing else.

## What to do
Correct it in the definitions of all tasks.

## When this accusation would be wrong
Blanks around an address work, and so does a role that TensorFlow does not know while nothing asks
what it is for: both are warnings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from holdfast.model.address import Address, Complaint, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.definitions import (
    NAMED_MAX,
    Definition,
    blamed,
    clauses,
    definitions,
    gathered,
    owners,
    proving,
    shown,
)
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import KNOWN_ROLES, task_named
from holdfast.model.wording import Words


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that is wrong in a definition."""

    says: str
    do: str
    severity: Severity = Severity.ERROR
    task: TaskId | None = None


def detect(evidence: Evidence) -> Iterator[Proof]:
    wrong = ((tuple(_wrong(definition)), definition) for definition in definitions(evidence))
    for mistakes, specs in gathered(wrong).items():
        worst = [wrong for wrong in mistakes if wrong.severity is Severity.ERROR] or mistakes
        if not worst:
            continue
        concerned = [wrong.task for wrong in worst if wrong.task is not None]
        is_error = worst[0].severity is Severity.ERROR  # a warning accuses nobody
        yield Proof(
            facts=proving(specs),
            culprit=blamed(specs, evidence, concerned=concerned) if is_error else None,
            says=f"{clauses([wrong.says for wrong in worst])} (in {owners(specs)})",
            do=tuple(dict.fromkeys(wrong.do for wrong in worst[:NAMED_MAX])),
            severity=worst[0].severity,
        )


def _wrong(definition: Definition) -> Iterator[Wrong]:
    for role, addresses in definition.cluster.items():
        yield from _role(role)
        for index, text in addresses.items():
            found = parse_address(text)
            numbered = index.isascii() and index.isdigit()
            if numbered and isinstance(found, Address) and not found.has_blanks:
                continue
            task = task_named(role, index)
            name = f"{shown(role)}:{shown(index)}"
            if not numbered:
                yield Wrong(
                    f'"{shown(index)}" is not an index of role {shown(role)}',
                    f"number the tasks of {shown(role)} from 0, or write their addresses as a list",
                )
            if isinstance(found, Complaint):
                yield Wrong(
                    f'the address of {name}, "{shown(text)}", {found}',
                    f"write the address of {name} as host:port, such as host-a:2222",
                    task=task,
                )
            elif found.has_blanks:
                yield Wrong(
                    f'the address of {name}, "{shown(text)}", has blanks, which TensorFlow takes'
                    " and others may not",
                    f"write the address of {name} without blanks: {found}",
                    severity=Severity.WARNING,
                    task=task,
                )


def _role(role: str) -> Iterator[Wrong]:
    if role in KNOWN_ROLES:
        return
    # TensorFlow 2.21 aborts on /job:my-role: its parser of device names takes no dash.
    if not (role.isascii() and role.replace("_", "a").isalnum() and role[0].isalpha()):
        yield Wrong(
            f'the role "{shown(role)}" cannot be part of a device name',
            f"use one of the roles {', '.join(KNOWN_ROLES)}",
        )
        return
    alike = get_close_matches(role.lower(), KNOWN_ROLES, 1)
    yield Wrong(
        f'TensorFlow does not know the role "{shown(role)}"'
        + (f", the nearest is {alike[0]}" if alike else ""),
        f'write "{alike[0]}" instead of "{shown(role)}"'
        if alike
        else f"use one of the roles {', '.join(KNOWN_ROLES)}",
        severity=Severity.WARNING,
    )


WORDS = (
    Words(
        Pattern(r"Started server with target: grpc://(?:\s+\S|\S+\s+\S*:\d)"),
        says="{who} listens at an address with a blank space in it: {line}",
    ),
    Words(
        Pattern(
            r"(?:Could not interpret|Could not parse port for local server from)"
            r" \"?(?P<culprit>[^\s\"]+)\"?(?: as a host-port pair|\.?$|\W)"
        ),
        of_speaker=True,
        says="{who} is an address that nobody can use: {line}",
    ),
)

cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
    words=WORDS,
    do=("write each address as host:port, without blanks, in every definition",),
)
