"""Compares what this task has built with what the others have, before the first step.

Each task writes its fingerprint into a folder that all of them share, and reads those of the
others. It waits for them for a few seconds, never for ever, and trains on where nobody answers.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any, NamedTuple

from . import place, records
from .differences import Difference, differences
from .fingerprint import fingerprint, only_serves, surroundings
from .telling import teller

WAIT_S = 15.0  # for the fingerprints of the others
ODD_ONE_S = 2.0  # once it is known who differs from most: for the rest
TELL_S_MAX = 1.0  # until whoever watches has heard of it
LOOK_EVERY_S = 0.05
TOLD_MAX = 8
FINGERPRINT_BYTES_MAX = 16 << 20
STALE_S = 600.0  # a fingerprint from so long before we started is of another job
BUILDERS = frozenset({"chief", "master", "worker"})
SERVERS = frozenset({"ps"})
DO = (
    "give all tasks the same program, flags and versions; compare what differs above, first of"
    " the tasks that are alone with it"
)

_began_s = time.time()
_calls = 0


class Agreement(NamedTuple):
    """With whom this task was compared, who did not answer, and what differs without harm."""

    compared: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


class Disagreement(RuntimeError):  # noqa: N818 - a word that says it
    """The tasks of this job have not built the same: they would hang, or learn nonsense."""

    def __init__(self, found: list[Difference]) -> None:
        self.differences = tuple(found)
        odd = sorted({task for one in found for task in one.odd})
        lines = ["the tasks of this job have not built the same:"]
        lines += ["  " + str(one) for one in found]
        if odd:
            alone = "differs" if len(odd) == 1 else "differ"
            lines.append("{} {} from most tasks.".format(", ".join(odd), alone))
        super().__init__("\n".join([*lines, "What to do: " + DO]))


def agree(
    model: Any = None,
    dataset: Any = None,
    *,
    wait_s: float = WAIT_S,
    folder: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Agreement:
    """Raises `Disagreement` where the tasks of this job have not built the same.

    `model` is a Keras model, a tf.Module or variables; a function that makes one, which is then
    made once more and outside of any strategy, to compare before variables are made together;
    or nothing, for the variables of TensorFlow 1's default graph. `folder` is one that all tasks
    of this job share, and nobody else: under Holdfast there is one.

    Who only serves, and who coordinates servers, waits for nobody: compared are versions and
    settings, with those that have called it before.
    """
    global _calls  # noqa: PLW0603 - the n-th call of one task is compared with the n-th of others
    _calls += 1
    me, where = place.task(), place.folder() if folder is None else os.fspath(folder)
    if not where or me.partition(":")[0] not in BUILDERS | SERVERS:
        return Agreement()
    serves = only_serves(model)
    mine = records.stamped(**_built(model, dataset, settings, serves=serves))
    if not records.write_whole(where, _file_name(me, _calls), mine):
        records.complain(
            f"the others cannot be told what {me} has built: {where} cannot be written"
        )
    awaited = [] if serves else _others(me, BUILDERS)
    oldest_s = 0.0 if folder is None else _began_s - STALE_S
    prints = _Look(where, _others(me, BUILDERS | SERVERS), oldest_s).gathered(
        {me: mine}, awaited, wait_s
    )
    found = differences(prints, tasks=len(awaited) + 1)
    _tell(found)
    if any(one.stops for one in found):
        raise Disagreement([one for one in found if one.stops])
    for one in found[:TOLD_MAX]:
        records.complain(f"not the same in all tasks: {one}")
    unanswered = tuple(task for task in awaited if task not in prints)
    if unanswered:
        seen = f"compared with {len(awaited) - len(unanswered)} of {len(awaited)} other tasks"
        waits = "no fingerprint of {} within {:g} s".format(", ".join(unanswered), wait_s)
        records.complain(f"{seen}; {waits}{_perhaps_why(folder)}")
    return Agreement(tuple(task for task in prints if task != me), unanswered, tuple(found))


def _built(
    model: Any, dataset: Any, settings: dict[str, Any] | None, *, serves: bool
) -> dict[str, Any]:
    if serves:
        return surroundings()
    made = _made_alone(model) if _is_maker(model) else model
    return fingerprint(made, dataset, settings=settings)


def _perhaps_why(folder: str | None) -> str:
    """A folder of a run is there on one host, as a rule; others may be elsewhere."""
    if folder is not None or len(place.hosts()) < 2:  # noqa: PLR2004
        return ""
    return "; tasks on other hosts need a folder that all share: agree(…, folder=…)"


def _is_maker(model: Any) -> bool:
    return callable(model) and not hasattr(model, "variables") and not hasattr(model, "layers")


def _made_alone(make: Any) -> Any:
    """In a thread of its own, for a strategy's scope holds in one thread only."""
    made: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            made.append(make())
        except BaseException as error:  # noqa: BLE001 - raised again, where it was asked for
            failed.append(error)

    thread = threading.Thread(target=work, name="holdfast-agree")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def _others(me: str, roles: frozenset[str]) -> list[str]:
    """The other tasks of these roles, as far as TF_CONFIG tells."""
    return [
        name
        for role, number in sorted(place.cluster().items())
        if role in roles
        for name in (f"{role}:{index}" for index in range(number))
        if name != me
    ]


def _file_name(task: str, call: int) -> str:
    return f"fingerprint.{place.attempt()}.{call}.{place.file_stem(task)}.json"


class _Look:
    """Reads what the others write, each once."""

    def __init__(self, where: str, others: list[str], oldest_s: float) -> None:
        self._where = where
        self._names = {task: _file_name(task, _calls) for task in others}
        self._oldest_s = oldest_s

    def gathered(self, prints: dict[str, Any], awaited: list[str], wait_s: float) -> dict[str, Any]:
        """Until all are there or the time is over; soon, once it is known who differs."""
        until_s = time.monotonic() + wait_s
        while True:
            if self._read_new(prints):
                stopping = [one for one in differences(prints, tasks=len(awaited) + 1) if one.stops]
                if stopping and all(one.odd for one in stopping):
                    until_s = min(until_s, time.monotonic() + ODD_ONE_S)
            if all(task in prints for task in awaited) or time.monotonic() >= until_s:
                return prints
            time.sleep(LOOK_EVERY_S)

    def _read_new(self, prints: dict[str, Any]) -> bool:
        """Whether there were any."""
        # To list a shared folder makes its host look anew; a name that was not there is remembered.
        there, before = _listed(self._where), len(prints)
        for task, name in self._names.items():
            if task not in prints and name in there:
                found = _read(self._where + "/" + name, self._oldest_s)
                if found is not None:
                    prints[task] = found
        return len(prints) > before


def _listed(where: str) -> set[str]:
    try:
        return set(os.listdir(where))  # noqa: PTH208
    except OSError:
        return set()


def _read(path: str, oldest_s: float) -> dict[str, Any] | None:
    """Another task's; None: not there, or not of this job, or none of ours."""
    try:
        if os.stat(path).st_mtime < oldest_s:  # noqa: PTH116
            return None
        with open(path, "rb") as file:  # noqa: PTH123
            found = json.loads(file.read(FINGERPRINT_BYTES_MAX))
        pairs = [(name, what) for name, what in found["variables"]]
        facets = [(about, name, what, stops) for about, name, what, stops in found["facets"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    by_name, builds = bool(found.get("by_name")), bool(found.get("builds", True))
    return {"variables": pairs, "facets": facets, "by_name": by_name, "builds": builds}


def _tell(found: list[Difference]) -> None:
    for one in found[:TOLD_MAX]:
        values = {what[:400]: tasks[:32] for what, tasks in list(one.values.items())[:8]}
        message = {"is": "differs", "about": one.about, "name": one.name, "values": values}
        teller().say({**message, "odd": one.odd[:32], "stops": one.stops})
    if found:
        teller().drain(TELL_S_MAX)
