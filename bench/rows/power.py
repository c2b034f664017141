"""Rebuilds a folder as it would be after a power cut: only what was synced is sure to be there.

A file's bytes are sure after a sync of the file, a name is sure after a sync of its folder.
What was not synced may be there in part: any of the unsynced writes within a file; what was
appended to it, up to some point, perhaps within a write; and the changes of a folder up to any
of them, because journals keep their order.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

HEAD = struct.Struct("<IIQqQII")
MAGIC = 0x31544B53


class Kind(IntEnum):
    """What a recorded call did; the numbers are those of `enum kind` in strike_at.c."""

    WRITE = 1
    TRUNCATE = 2
    CREATE = 3
    RENAME = 4
    LINK = 5
    UNLINK = 6
    MKDIR = 7
    RMDIR = 8
    SYNC = 9
    NOTE = 10


@dataclass(frozen=True)
class Event:
    """One recorded call."""

    kind: Kind
    ino: int
    offset: int
    path: str
    other: str
    content: bytes


def events(record: bytes) -> Iterator[Event]:
    """The recorded calls in their order; a record that ends within one is an error."""
    at = 0
    while at < len(record):
        magic, kind, ino, offset, nbytes, path_bytes, other_bytes = HEAD.unpack_from(record, at)
        if magic != MAGIC:
            raise ValueError(f"the record is damaged at byte {at}")
        at += HEAD.size
        path = record[at : at + path_bytes].decode()
        at += path_bytes
        other = record[at : at + other_bytes].decode()
        at += other_bytes
        content_bytes = nbytes if kind in (Kind.WRITE, Kind.NOTE) else 0
        yield Event(Kind(kind), ino, offset, path, other, record[at : at + content_bytes])
        at += content_bytes


@dataclass
class File:
    """A file: what is sure, and the writes and truncations since its last sync."""

    now: bytearray = field(default_factory=bytearray)
    sure: bytes = b""
    unsure: list[tuple[int, bytes | None]] = field(default_factory=list)

    def change(self, offset: int, content: bytes | None) -> None:
        apply(self.now, offset, content)
        self.unsure.append((offset, content))

    def sync(self) -> None:
        self.sure = bytes(self.now)
        self.unsure.clear()

    def after_cut(self, chance: random.Random | None) -> bytes:
        left = bytearray(self.sure)
        if chance is None:
            return bytes(left)
        longest = chance.randint(len(left), max(len(left), len(self.now)))
        for offset, content in self.unsure:
            is_appended = content is not None and offset == len(left)
            if is_appended or chance.random() < 0.5:
                apply(left, offset, content)
        return bytes(left[:longest])


@dataclass
class Folder:
    """A folder: the names that are sure, and the changes since its last sync."""

    now: dict[str, "File | Folder"] = field(default_factory=dict)
    sure: dict[str, "File | Folder"] = field(default_factory=dict)
    unsure: list[dict[str, "File | Folder | None"]] = field(default_factory=list)

    def change(self, names: dict[str, "File | Folder | None"]) -> None:
        rename(self.now, names)
        self.unsure.append(names)

    def sync(self) -> None:
        self.sure = dict(self.now)
        self.unsure.clear()

    def after_cut(self, chance: random.Random | None) -> dict[str, "File | Folder"]:
        left = dict(self.sure)
        kept = chance.randint(0, len(self.unsure)) if chance else 0
        for names in self.unsure[:kept]:
            rename(left, names)
        return left


def apply(content: bytearray, offset: int, written: bytes | None) -> None:
    """A write, or a truncation where nothing is written."""
    end = offset + len(written or b"")
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if written is None:
        del content[offset:]
    else:
        content[offset:end] = written


def rename(names: dict[str, File | Folder], changes: dict[str, File | Folder | None]) -> None:
    for name, thing in changes.items():
        if thing is None:
            names.pop(name, None)
        else:
            names[name] = thing


class Disk:
    """A folder with all below it, as a disk would keep it through a power cut."""

    def __init__(self, folder: Path) -> None:
        """Everything that is there now counts as synced."""
        self.start = str(folder.resolve())
        self._by_ino: dict[int, File | Folder] = {}
        self.root = self._taken(folder)

    def _taken(self, folder: Path) -> Folder:
        taken = Folder()
        for path in folder.iterdir():
            if path.is_dir():
                taken.now[path.name] = self._taken(path)
            else:
                content = path.read_bytes()
                taken.now[path.name] = File(bytearray(content), content)
                self._by_ino[path.stat().st_ino] = taken.now[path.name]
        taken.sync()
        self._by_ino[folder.stat().st_ino] = taken
        return taken

    def play(self, event: Event) -> None:
        """What one recorded call changes."""
        match event.kind:
            case Kind.WRITE | Kind.TRUNCATE:
                file = self._by_ino[event.ino]
                if isinstance(file, File):
                    file.change(event.offset, event.content if event.kind == Kind.WRITE else None)
            case Kind.CREATE | Kind.MKDIR:
                made: File | Folder = File() if event.kind == Kind.CREATE else Folder()
                self._by_ino[event.ino] = made
                self._name({event.path: made})
            case Kind.RENAME:
                self._name({event.path: None, event.other: self._by_ino[event.ino]})
            case Kind.LINK:
                self._name({event.other: self._by_ino[event.ino]})
            case Kind.UNLINK | Kind.RMDIR:
                self._name({event.path: None})
            case Kind.SYNC:
                self._by_ino[event.ino].sync()

    def _name(self, changes: dict[str, File | Folder | None]) -> None:
        """Names of one folder change at once; of two, each when its folder is synced."""
        by_parent: dict[str, dict[str, File | Folder | None]] = {}
        for path, thing in changes.items():
            parent, _, name = path.rpartition("/")
            by_parent.setdefault(parent, {})[name] = thing
        for parent, names in by_parent.items():
            if parent == self.start or parent.startswith(f"{self.start}/"):
                self._folder(parent).change(names)

    def _folder(self, path: str) -> Folder:
        found: File | Folder = self.root
        for name in path[len(self.start) :].strip("/").split("/"):
            if name and isinstance(found, Folder):
                found = found.now[name]
        if not isinstance(found, Folder):
            raise NotADirectoryError(path)
        return found

    def write_after_cut(self, target: Path, chance: random.Random | None) -> None:
        """The folder as it is after the cut; without chance, nothing but what is sure."""
        self._write(self.root, target, chance, {})

    def _write(
        self, folder: Folder, target: Path, chance: random.Random | None, made: dict[int, Path]
    ) -> None:
        target.mkdir(exist_ok=True)
        for name, thing in folder.after_cut(chance).items():
            if isinstance(thing, Folder):
                self._write(thing, target / name, chance, made)
            elif id(thing) in made:
                (target / name).hardlink_to(made[id(thing)])
            else:
                (target / name).write_bytes(thing.after_cut(chance))
                made[id(thing)] = target / name
