"""Points at which something is struck, each with what was found after the recovery."""

import errno
import json
import random
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from bench.rows.power import Disk, Kind, events
from bench.rows.shim import How, Strike
from bench.rows.warm import Ended, Warm

Acknowledged = dict[str, list[int]]


@dataclass(frozen=True)
class Target:
    """What is struck, in which folder, and what puts it right again."""

    name: str
    program: str
    options: Mapping[str, Any] = field(default_factory=dict)
    # What has written into the folder before: programs with their options, and whether the last
    # ones are killed half-way, so that torn logs and old owners are lying about.
    before: Sequence[tuple[str, Mapping[str, Any]]] = ()
    torn_before: Sequence[tuple[str, Mapping[str, Any], int]] = ()
    recover: str = "recover"
    power_safe: bool = False


@dataclass(frozen=True)
class Point:
    """One strike and its outcome."""

    target: str
    strike: str
    acknowledged: int
    wrong: str  # nothing, if nothing is wrong

    def __str__(self) -> str:
        return f"{self.target}, {self.strike}: {self.wrong or 'nothing wrong'}"


class Range:
    """Where one target is struck: its folder before the strike is made once, and copied."""

    def __init__(self, warm: Warm, target: Target, seed: int, scratch: Path) -> None:
        self._warm, self._target, self._seed = warm, target, seed
        self._scratch = Path(tempfile.mkdtemp(prefix="range-", dir=scratch))
        self._pristine = self._scratch / "before"
        self._root = self._scratch / "root"
        for name in ("job", "out"):
            (self._pristine / name).mkdir(parents=True)
        self._before: Acknowledged = {}
        for program, options in target.before:
            ended = warm.run(program, self._pristine, {"seed": seed, **options})
            ended.one("seen")
            _add(self._before, ended)
        for program, options, at in target.torn_before:
            ended = warm.run(
                program,
                self._pristine,
                {"seed": seed, **options},
                strike=Strike(How.KILL_WITHIN, at),
            )
            _add(self._before, ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def calls(self) -> str:
        """One letter for every call that changes the folder, when nothing is struck."""
        return str(self._struck(Strike(How.COUNT))[0].one("kinds"))

    def killed(self, at: int, how: How) -> Point:
        ended, acknowledged = self._struck(Strike(how, at))
        wrong = "" if ended.was_killed or not ended.status else f"ended with {ended.status}"
        text = f"killed {'before' if how == How.KILL_BEFORE else 'within'} call {at}"
        return self._recovered(text, acknowledged, wrong or _broken(ended))

    def failed(self, at: int, error: int, times: int) -> Point:
        """A full or broken disk: said in a sentence, and what was acknowledged stays."""
        ended, acknowledged = self._struck(Strike(How.FAIL, at, error, times))
        text = f"{errno.errorcode[error]} from call {at} on, {times} times"
        return self._recovered(text, acknowledged, _broken(ended) or _unclear(ended))

    def cut_off(self, points: int, chance: random.Random) -> Iterator[Point]:
        """Power cuts after recorded calls: at all of them, or at so many."""
        self._fresh()
        disk = Disk(self._root)
        record = self._scratch / "record"
        self._warm.run(self._target.program, self._root, self._options(), record=record).one("seen")
        recorded = list(events(record.read_bytes()))
        record.unlink()
        calls = [at for at, event in enumerate(recorded) if event.kind != Kind.NOTE]
        chosen = set(calls if len(calls) <= points else chance.sample(calls, points))
        acknowledged = {name: list(batches) for name, batches in self._before.items()}
        for at, event in enumerate(recorded):
            if event.kind == Kind.NOTE:
                _add_line(acknowledged, json.loads(event.content))
            else:
                disk.play(event)
            if at in chosen:
                # Every second cut keeps some of what was not synced, too.
                kept = random.Random(chance.random()) if len(chosen) % 2 else None
                chosen.discard(at)
                self._clear()
                disk.write_after_cut(self._root, kept)
                how = "some" if kept else "none"
                text = f"power cut after call {at} ({event.kind.name}), {how} of the unsynced kept"
                boot = self._scratch / "boot_id"
                boot.write_text(f"{uuid.UUID(int=chance.getrandbits(128))}\n")
                yield self._recovered(text, acknowledged, "", boot)

    def _options(self) -> dict[str, Any]:
        return {"seed": self._seed, **self._target.options}

    def _struck(self, strike: Strike) -> tuple[Ended, Acknowledged]:
        self._fresh()
        ended = self._warm.run(self._target.program, self._root, self._options(), strike=strike)
        acknowledged = {name: list(batches) for name, batches in self._before.items()}
        _add(acknowledged, ended)
        return ended, acknowledged

    def _recovered(
        self, strike: str, acknowledged: Acknowledged, wrong: str, boot: Path | None = None
    ) -> Point:
        options = {**self._options(), "acknowledged": acknowledged}
        ended = self._warm.run(self._target.recover, self._root, options, boot=boot)
        found = _broken(ended) or "; ".join(ended.told("wrong"))
        if not found and ended.status:
            found = f"the recovery ended with {ended.status}"
        count = sum(map(len, acknowledged.values()))
        named = f"{self._target.name} (seed {self._seed})"
        return Point(named, strike, count, "; ".join(filter(None, (wrong, found))))

    def _clear(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def _fresh(self) -> None:
        self._clear()
        shutil.copytree(self._pristine, self._root)


def _add(acknowledged: Acknowledged, ended: Ended) -> None:
    for line in ended.lines:
        _add_line(acknowledged, line)


def _add_line(acknowledged: Acknowledged, line: Mapping[str, Any]) -> None:
    if "ack" in line:
        batch, names = line["ack"]
        for name in names:
            acknowledged.setdefault(name, []).append(batch)


def _broken(ended: Ended) -> str:
    return "; ".join(str(text).strip().rpartition("\n")[2] for text in ended.told("broken"))


def _unclear(ended: Ended) -> str:
    """An error must have words, and say what to do."""
    for _, kind, text, do in ended.told("refused"):
        if not text or not do:
            return f"{kind} says {text!r}, and to do {do!r}"
    return ""
