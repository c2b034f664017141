"""What a history's own notes prove: two writers of one file at once, and what must be in it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Note = dict[str, Any]


@dataclass
class Truth:
    """Of one history."""

    second_writers: list[str] = field(default_factory=list)
    saved: dict[int, set[str]] = field(default_factory=dict)  # by inode
    torn: set[int] = field(default_factory=set)  # by a kill of its only writer
    is_unsure: bool = False  # whether somebody may have emptied a file without knowing which
    opens: int = 0
    refused: int = 0

    def expected(self, folder: Path) -> dict[str, list[str]]:
        """Of every file that has a name in the end and was not torn: what was saved to it."""
        found = {}
        for path in sorted(folder.glob("*.h5")):
            inode = path.stat().st_ino
            if inode in self.saved and inode not in self.torn:
                found[path.name] = [] if self.is_unsure else sorted(self.saved[inode])
        return found


def notes_of(folder: Path) -> list[Note]:
    """All of them, in the order of the clock that they share."""
    lines = [line for path in folder.glob("*.notes") for line in path.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda note: int(note["at"]))


def truth_of(notes: list[Note], *, first: dict[int, set[str]], whole: set[str]) -> Truth:
    """`first`: what was in the files at the start; `whole`: who came to the end of its process."""
    truth = Truth(saved={inode: set(names) for inode, names in first.items()})
    spans: dict[int, list[tuple[int, int, str]]] = {}  # by inode: from, until, whose
    for at, note in enumerate(notes):
        later = notes[at + 1 :]
        match note["act"]:
            case "opened":
                truth.opens += 1
                span = (int(note["at"]), _open_until(later, note), f"{note['by']} {note['slot']}")
                spans.setdefault(note["inode"], []).append(span)
                if note["is_new"]:
                    truth.saved[note["inode"]] = set()
                    truth.torn.discard(note["inode"])
            case "saved" | "closing" | "ending" if _is_saved(later, note, whole):
                truth.saved.setdefault(note["inode"], set()).update(note["names"])
            case "unsure":
                truth.is_unsure = True
            case "torn":
                truth.torn.add(note["inode"])
            case "failed":
                truth.refused += note["kind"] == "HeldFile"
    for inode, some in spans.items():
        truth.second_writers += [f"{one} in inode {inode}" for one in _at_once(sorted(some))]
    return truth


def _at_once(spans: list[tuple[int, int, str]]) -> list[str]:
    """Those who came while somebody was there."""
    found = []
    until, there = 0, ""
    for began, ended, whose in spans:
        if began < until:
            found.append(f"{whose} beside {there}")
        if ended > until:
            until, there = ended, whose
    return found


def _open_until(later: list[Note], opened: Note) -> int:
    """It had it open for sure until it began to close it, or until the last thing it did."""
    last = int(opened["at"])
    for note in later:
        if note["by"] == opened["by"]:
            last = int(note["at"])
            if note["act"] == "closing" and note["slot"] == opened["slot"]:
                break
    return last


def _is_saved(later: list[Note], note: Note, whole: set[str]) -> bool:
    """A close is noted as done after others may have come: what it saved was so before."""
    if note["act"] == "ending":
        return note["by"] in whole
    slot = (note["by"], note.get("slot"))
    return note["act"] == "saved" or any(
        one["act"] == "closed" and (one["by"], one["slot"]) == slot for one in later
    )
