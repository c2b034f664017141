"""Brings a remote log directory to a folder here, where everything else can read it."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.rows import layout
from holdfast.rows.errors import Damaged, RowsError, Unwritable, unwritable
from holdfast.rows.publishing import private_path, publish
from holdfast.rows.spool import default_root, fetched_for
from holdfast.rows.store import Store, answered, is_url
from holdfast.rows.uploading import Sent, manifests

FREE_BYTES_MIN = 256 << 20


def fetch(
    url: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Path:
    """A local log directory with all segments of a remote one; only what is new is brought.

    Each is compared with its manifest. By default it lies beside the spool, under /var/tmp.
    """
    target = Path(folder) if folder is not None else fetched_for(url, default_root())
    store = Store(url, storage_options)
    names = answered(url, lambda: store.names("rows"))
    wanted = [name for name in names if layout.task_of_folder(name)]
    if not wanted:
        raise RowsError(f"there are no rows in {store.shown}", do="name the URL of rows.open()")
    known = _known(store)
    try:
        rows = layout.prepare(target)
        for source in wanted:
            _fetch_source(store, source, rows / source, known)
    except OSError as error:
        raise unwritable(target, error, do="make room, or name another folder") from error
    return target


def here(logdir: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Path:
    """The log directory itself if it is a folder; what `fetch` made of it otherwise."""
    if is_url(logdir):
        return fetch(os.fspath(logdir), storage_options=storage_options)
    return Path(logdir)


def _fetch_source(store: Store, source: str, folder: Path, known: dict[str, Sent]) -> None:
    folder.mkdir(exist_ok=True)
    there = set(store.names(f"rows/{source}"))
    missing = [
        name
        for name in known
        if name.startswith(f"{source}/") and name[len(source) + 1 :] not in there
    ]
    if missing:
        raise Damaged(
            f"{store.shown}/rows/{missing[0]} was confirmed and is gone",
            do="look for who removed it: versions of the bucket, backups",
        )
    if "source.json" in there and not (folder / "source.json").exists():
        with private_path(folder / "source.json") as private:
            private.write_bytes(store.read(f"rows/{source}/source.json") or b"{}")
            publish(private, folder / "source.json")
    for name in sorted(there):
        if layout.part_number(name, ".h5") is not None:
            _fetch_segment(store, f"{source}/{name}", folder / name, known)


def _fetch_segment(store: Store, name: str, target: Path, known: dict[str, Sent]) -> None:
    """A segment that is in no manifest yet is taken as it is: it appeared whole."""
    told = known.get(name)
    nbytes = store.bytes_of(f"rows/{name}") if told is None else told.nbytes
    if target.exists() and target.stat().st_size == nbytes:
        return
    free = shutil.disk_usage(target.parent).free
    if free - nbytes < FREE_BYTES_MIN:
        raise Unwritable(
            f"{target.parent} has room for {free} bytes, and {name} needs {nbytes}",
            do="make room, or name another folder: rows.fetch(url, folder)",
        )
    digest = hashlib.sha256()
    with private_path(target) as private:
        with private.open("xb") as file:
            for piece in store.pieces(f"rows/{name}"):
                digest.update(piece)
                file.write(piece)
        if told and told.sha256 != digest.hexdigest():
            raise Damaged(
                f"{store.shown}/rows/{name} is not as it was uploaded",
                do="look for who changed it: versions of the bucket, backups",
            )
        publish(private, target)


def _known(store: Store) -> dict[str, Sent]:
    """All that manifests name, by name. Whoever was killed between may have written two."""
    return {sent.name: sent for _, name in manifests(store) for sent in _read(store, name)}


def _read(store: Store, name: str) -> Iterator[Sent]:
    with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
        told = json.loads(store.read(name) or b"")
        for one in told["segments"]:
            yield Sent(str(one["name"]), int(one["bytes"]), str(one["sha256"]))
        return
    raise Damaged(f"{store.shown}/{name} is no manifest of rows", do="look for who changed it")
