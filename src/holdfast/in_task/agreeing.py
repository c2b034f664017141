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
from .fingerprint import coordinates, fingerprint
from .telling import teller

WAIT_S = 15.0  # for the fingerprints of the others
ODD_ONE_S = 2.0  # once there is a difference: for the rest, which tells who is the odd one
LOOK_EVERY_S = 0.05
TOLD_MAX = 8
FINGERPRINT_BYTES_MAX = 16 << 20
STALE_S = 600.0  # a fingerprint from so long before we started is of another job
BUILDERS = frozenset({"chief", "master", "worker"})
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
    """
    global _calls  # noqa: PLW0603 - the n-th call of one task is compared with the n-th of others
    _calls += 1
    me, where = place.task(), place.folder() if folder is None else os.fspath(folder)
    role = me.partition(":")[0]
    if not where or role not in BUILDERS:
        return Agreement()
    if _is_maker(model):
        model = _made_alone(model)
    mine = records.stamped(**fingerprint(model, dataset, settings=settings))
    names = {task: _file_name(task, _calls) for task in _others(model)}
    if not records.write_whole(where, _file_name(me, _calls), mine):
        records.complain(
            f"the others cannot be told what {me} has built: {where} cannot be written"
        )
    prints = _gathered(where, {me: mine}, names, wait_s)
    found = differences(prints)
    _tell(found)
    if any(one.stops for one in found):
        raise Disagreement([one for one in found if one.stops])
    unanswered = tuple(task for task in names if task not in prints)
    compared = tuple(task for task in prints if task != me)
    for one in found[:TOLD_MAX]:
        records.complain(f"not the same in all tasks: {one}")
    if unanswered:
        seen = f"compared with {len(compared)} of {len(names)} other tasks"
        waits = "no fingerprint of {} within {:g} s".format(", ".join(unanswered), wait_s)
        records.complain(f"{seen}; {waits}{_perhaps_why(folder)}")
    return Agreement(compared, unanswered, tuple(found))


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


def _others(model: Any) -> list[str]:
    """Who builds the same, as far as TF_CONFIG tells."""
    me = place.task()
    if coordinates(model):
        return []
    return [
        name
        for role, number in sorted(place.cluster().items())
        if role in BUILDERS
        for name in (f"{role}:{index}" for index in range(number))
        if name != me
    ]


def _file_name(task: str, call: int) -> str:
    return f"fingerprint.{place.attempt()}.{call}.{place.file_stem(task)}.json"


def _gathered(
    where: str, prints: dict[str, Any], names: dict[str, str], wait_s: float
) -> dict[str, Any]:
    """Until all are there or the time is over; soon, once two of them differ."""
    until_s = time.monotonic() + wait_s
    while True:
        # To list a shared folder makes its host look anew; a name that was not there is remembered.
        there = _listed(where)
        for task, name in names.items():
            if task in prints or name not in there:
                continue
            if (found := _read(where + "/" + name)) is not None:
                prints[task] = found
                if any(one.stops for one in differences(prints)):
                    until_s = min(until_s, time.monotonic() + ODD_ONE_S)
        if len(prints) > len(names) or time.monotonic() >= until_s:
            return prints
        time.sleep(LOOK_EVERY_S)


def _listed(where: str) -> set[str]:
    try:
        return set(os.listdir(where))  # noqa: PTH208
    except OSError:
        return set()


def _read(path: str) -> dict[str, Any] | None:
    """Another task's; None: not there, or not of this job, or none of ours."""
    try:
        if os.stat(path).st_mtime < _began_s - STALE_S:  # noqa: PTH116
            return None
        with open(path, "rb") as file:  # noqa: PTH123
            found = json.loads(file.read(FINGERPRINT_BYTES_MAX))
        pairs = [(name, what) for name, what in found["variables"]]
        facets = [(about, name, what, stops) for about, name, what, stops in found["facets"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return {"variables": pairs, "facets": facets, "by_name": bool(found.get("by_name"))}


def _tell(found: list[Difference]) -> None:
    for one in found[:TOLD_MAX]:
        values = {what[:400]: tasks[:32] for what, tasks in list(one.values.items())[:8]}
        message = {"is": "differs", "about": one.about, "name": one.name, "values": values}
        teller().say({**message, "stops": one.stops})
