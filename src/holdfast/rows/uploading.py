"""Closed logs become segments, segments are uploaded once, and only then they leave this host."""

import contextlib
import hashlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.rows import layout
from holdfast.rows.errors import Damaged, RowsError, Unwritable
from holdfast.rows.sealing_call import seal_now
from holdfast.rows.spool import LOCK_FILE, spools, uploading, url_of
from holdfast.rows.store import Store

MANIFEST_TRIES_MAX = 100_000
_MANIFEST = "manifest-"
_READ_BYTES = 4 << 20


@dataclass(frozen=True)
class Sent:
    """A segment that the remote log directory has, confirmed."""

    name: str  # below rows/
    nbytes: int
    sha256: str


def upload_spool(
    root: Path, options: Mapping[str, Any] | None = None
) -> Iterator[Sent | RowsError]:
    """Finishes what writers that are gone left behind. What a living one writes stays its own."""
    found = spools(root) if root.is_dir() else []
    if not found:
        raise RowsError(f"{root} is no spool", do="name the folder that the message named")
    for spool in found:
        yield from upload_leftovers(spool, Store(url_of(spool) or "", options))


def upload_leftovers(spool: Path, store: Store) -> Generator[Sent | RowsError, None, None]:
    """Of each source in this spool that nobody writes or uploads; one error stops one source."""
    rows = layout.rows_folder(spool)
    for folder in sorted(rows.iterdir()) if rows.is_dir() else []:
        if layout.task_of_folder(folder.name) is None:
            continue
        with uploading(folder) as is_ours:
            if not is_ours:
                continue
            try:
                yield from upload_source(folder, store)
            except RowsError as error:
                yield error
                continue
            if not _is_alive(layout.read_source(folder)):
                remove_if_done(folder)


def upload_source(folder: Path, store: Store) -> Iterator[Sent]:
    """Seals and uploads the closed logs of one source; each is removed here when confirmed."""
    seal_now(folder)
    for segment in _segments(folder):
        sent = _send(store, f"{folder.name}/{segment.name}", segment)
        add_to_manifest(store, [sent])
        segment.unlink(missing_ok=True)
        yield sent


def remove_if_done(folder: Path) -> None:
    """A source whose writer is gone and whose every row is uploaded leaves no trace here."""
    with contextlib.suppress(OSError):
        if {path.name for path in folder.iterdir()} <= {"source.json", LOCK_FILE}:
            (folder / "source.json").unlink(missing_ok=True)
            (folder / LOCK_FILE).unlink(missing_ok=True)
            folder.rmdir()


def add_to_manifest(store: Store, sent: Sequence[Sent]) -> str:
    """A further manifest that names these segments. Numbers are taken in turn, by whoever."""
    number = 1 + max((number for number, _ in manifests(store)), default=0)
    content = json.dumps(
        {
            "format": layout.FORMAT,
            "segments": [
                {"name": one.name, "bytes": one.nbytes, "sha256": one.sha256} for one in sent
            ],
        }
    )
    for _ in range(MANIFEST_TRIES_MAX):
        name = f"rows/{_MANIFEST}{number:06d}.json"
        if store.create(name, content.encode()):
            return name
        number += 1
    raise Unwritable(f"{store.shown} has too many manifests", do="use a new log directory")


def manifests(store: Store) -> list[tuple[int, str]]:
    """Number and name of each manifest, in order."""
    found = []
    for name in store.names("rows"):
        number = name.removeprefix(_MANIFEST).removesuffix(".json")
        if name == f"{_MANIFEST}{number}.json" and number.isascii() and number.isdigit():
            found.append((int(number), f"rows/{name}"))
    return sorted(found)


def _send(store: Store, name: str, segment: Path) -> Sent:
    """May be repeated: what is there already must be the same, byte by byte."""
    nbytes, digest = _measured(segment)
    sent = Sent(name, nbytes, digest)
    is_new = store.create_from(f"rows/{name}", segment)
    there = store.bytes_of(f"rows/{name}")
    if there != nbytes or (not is_new and store.sha256(f"rows/{name}") != digest):
        raise Damaged(
            f"{store.shown}/rows/{name} is there with other content ({there} bytes, not {nbytes})",
            do=f"look at who wrote it; ours stays in {segment}",
        )
    return sent


def _measured(path: Path) -> tuple[int, str]:
    digest = hashlib.sha256()
    nbytes = 0
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
            nbytes += len(piece)
    return nbytes, digest.hexdigest()


def _segments(folder: Path) -> list[Path]:
    found = [path for path in folder.iterdir() if layout.part_number(path.name, ".h5") is not None]
    return sorted(found)


def _is_alive(about: Mapping[str, Any]) -> bool:
    """A writer that has no log yet is known by its process alone; in doubt it lives."""
    pid = about.get("pid")
    return not isinstance(pid, int) or Path(f"/proc/{pid}").exists()
