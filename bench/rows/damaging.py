"""Makes damaged files of many kinds from originals that are known to the last row."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from holdfast import rows
from holdfast.rows.frames import HEADER_BYTES
from holdfast.rows.reading import parts, read_part, sources
from holdfast.rows.sealing import seal_folder

# Its writer is killed while the file is marked as open.
MARKED = """
import os, sys, h5py, numpy as np
path, how, seed = sys.argv[1:]
file = h5py.File(path, "w", libver="v110")
made = np.random.default_rng(int(seed)).random((640, 16), "f4")
grows = file.create_dataset("grows", (0, 16), "f4", maxshape=(None, 16), chunks=(32, 16),
                            fletcher32=True)
if how == "swmr":
    file.swmr_mode = True
for start in range(0, 640, 32):
    grows.resize(start + 32, axis=0)
    grows[start:] = made[start:start + 32]
    grows.flush() if how == "swmr" else file.flush()
os.kill(os.getpid(), 9)
"""


@dataclass
class Case:
    """One damaged file. `rows` holds what the original had in each dataset."""

    name: str
    path: Path
    rows: dict[str, Any] = field(default_factory=dict)
    must_have: dict[str, set[int]] = field(default_factory=dict)  # rows that can be recovered
    wanted_kind: str = ""


def original(path: Path, chance: random.Random, libver: str | None) -> dict[str, Any]:
    """Datasets of every storage, with and without checksums."""
    make = np.random.default_rng(chance.randrange(1 << 30))
    made = {
        "/plain": make.random((500, 16), "f4"),
        "/train/chunked": make.integers(0, 1 << 40, (600, 8)),
        "/train/gzip": make.integers(0, 50, (900, 12), dtype="i4"),
        "/train/deep/fletcher": make.random((700, 10)),
        "/train/deep/both": make.random((512, 9, 3), "f4"),
    }
    with h5py.File(path, "w", libver=libver) as file:
        file.attrs["run"] = "a name"
        file["plain"] = made["/plain"]
        file.create_dataset("train/chunked", data=made["/train/chunked"], chunks=(64, 8))
        file.create_dataset(
            "train/gzip", data=made["/train/gzip"], chunks=(50, 12), compression="gzip"
        )
        deep = file.create_group("train/deep")
        deep.attrs["units"] = "m"
        deep.create_dataset(
            "fletcher", data=made["/train/deep/fletcher"], chunks=(70, 5), fletcher32=True
        )
        deep.create_dataset(
            "both",
            data=made["/train/deep/both"],
            chunks=(32, 9, 3),
            fletcher32=True,
            compression="gzip",
            shuffle=True,
        )
    return made


def _cut(content: bytearray, chance: random.Random) -> bytearray:
    return content[: chance.randrange(1, len(content))]


def _flipped(content: bytearray, chance: random.Random) -> bytearray:
    for _ in range(chance.choice((1, 1, 3, 20))):
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
    return content


def _zeroed(content: bytearray, chance: random.Random) -> bytearray:
    size = min(len(content), chance.choice((64, 512, 4096)))
    start = chance.randrange(len(content) - size + 1)
    content[start : start + size] = bytes(size)
    return content


def _head_damaged(content: bytearray, chance: random.Random) -> bytearray:
    """Where the structure lies."""
    for _ in range(chance.choice((1, 2, 8))):
        content[chance.randrange(min(4096, len(content)))] ^= chance.randrange(1, 256)
    return content


def _longer(content: bytearray, chance: random.Random) -> bytearray:
    return content + chance.randbytes(chance.randrange(1, 5000))


DAMAGES: dict[str, Callable[[bytearray, random.Random], bytearray]] = {
    "cut": _cut,
    "flipped": _flipped,
    "zeroed": _zeroed,
    "head": _head_damaged,
    "longer": _longer,
}
NO_HDF5: dict[str, tuple[str, Callable[[random.Random], bytes]]] = {
    "empty": ("empty", lambda chance: b""),
    "text": ("text", lambda chance: b"loss,accuracy\n" + b"0.5,0.9\n" * chance.randrange(1, 99)),
    "page": ("text", lambda chance: b"<!DOCTYPE html><html>404</html>"),
    "pointer": ("text", lambda chance: b"version https://git-lfs.github.com/spec/v1\noid sha256:0"),
    "zeros": ("foreign", lambda chance: bytes(chance.randrange(1, 20_000))),
    "noise": ("foreign", lambda chance: b"\xff" + chance.randbytes(chance.randrange(9, 9000))),
    "archive": ("foreign", lambda chance: b"PK\x03\x04" + chance.randbytes(500)),
}


def cases(folder: Path, count: int, seed: int = 1) -> list[Case]:
    """As many damaged files as asked for, of all kinds in turn; the same for the same seed."""
    chance = random.Random(seed)
    made: list[Case] = []
    versions = ((None, "v0"), ("v110", "v3"))
    kinds: list[tuple[str, Any]] = [
        *(
            (f"{damage} {name}", (libver, damage))
            for damage in DAMAGES
            for libver, name in versions
        ),
        ("swmr", None),
        ("marked", None),
        *((f"log {damage}", damage) for damage in ("cut", "flipped", "zeroed")),
        *((f"left log {damage}", damage) for damage in ("cut", "flipped", "zeroed")),
        *((f"segment {damage}", damage) for damage in ("cut", "flipped")),
        *((name, None) for name in NO_HDF5),
    ]
    while len(made) < count:
        name, how = kinds[len(made) % len(kinds)]
        place = folder / f"{len(made):04d}"
        place.mkdir()
        made.append(_made(name, how, place, chance))
    return made


def _made(name: str, how: Any, place: Path, chance: random.Random) -> Case:
    path = place / "file.h5"
    if name in NO_HDF5:
        kind, content = NO_HDF5[name]
        path.write_bytes(content(chance))
        return Case(name, path, wanted_kind=kind)
    if name in ("swmr", "marked"):
        seed = chance.randrange(1 << 30)
        subprocess.run([sys.executable, "-c", MARKED, str(path), name, str(seed)], check=False)
        grown = np.random.default_rng(seed).random((640, 16), "f4")
        return Case(name, path, {"/grows": grown}, {"/grows": set(range(640))}, "dirty")
    if name.startswith(("log", "left", "segment")):
        return _folder_case(name, how, place, chance)
    libver, damage = how
    known = original(path, chance, libver)
    path.write_bytes(DAMAGES[damage](bytearray(path.read_bytes()), chance))
    return Case(name, path, known)


def _folder_case(name: str, how: str, place: Path, chance: random.Random) -> Case:
    """A log directory of two writers, closed or killed; one log or segment is damaged."""
    logdir = place / "logdir"
    make = np.random.default_rng(chance.randrange(1 << 30))
    known: dict[str, Any] = {}
    for task in range(2):
        batches = [make.random((chance.randrange(1, 9), 5)) for _ in range(40)]
        _write(logdir, f"worker:{task}", batches, is_killed=name.startswith("left"))
        known[f"worker-{task}.0001/train/loss"] = np.concatenate(batches)
    if name.startswith("segment"):
        seal_folder(logdir)
    suffix = "h5" if name.startswith("segment") else "log"
    found = sorted(logdir.rglob(f"0*.{suffix}"))
    path = chance.choice(found)
    must = {one: set(range(len(known[one]))) for one in known}
    hurt = f"{path.parent.name}/train/loss"
    content = bytearray(path.read_bytes())
    damaged = DAMAGES[how](bytearray(content), chance)
    must[hurt] -= _rows_hit(logdir, path, content, damaged)
    path.write_bytes(damaged)
    return Case(name, logdir, known, must, "folder")


def _write(logdir: Path, task: str, batches: list[Any], *, is_killed: bool) -> None:
    """The log of one that was killed is long, and goes on ahead of its rows."""
    child = os.fork() if is_killed else 0
    if child:
        os.waitpid(child, 0)
        return
    log_bytes_max = 1 << 20 if is_killed else 4096
    with rows.open(logdir, task=task, seal="never", log_bytes_max=log_bytes_max) as writer:
        for batch in batches:
            writer.append("train/loss", batch)
        if is_killed:
            os.kill(os.getpid(), signal.SIGKILL)


def _rows_hit(logdir: Path, path: Path, before: bytearray, after: bytearray) -> set[int]:
    """Rows of which a byte changed; all of the part where something else than rows changed."""
    changed = {at for at in range(len(before)) if at >= len(after) or before[at] != after[at]}
    part = next(p for s in sources(logdir) for p in parts(s) if p.path == path)
    with read_part(part) as content:
        blocks = content.blocks
        whole = {row for one in blocks for row in range(one.first_row, one.first_row + one.rows)}
        if part.is_segment:
            return whole if changed else set()
        hit: set[int] = set()
        for one in blocks:
            if not changed.isdisjoint(range(one.offset - HEADER_BYTES, one.offset + one.nbytes)):
                hit |= set(range(one.first_row, one.first_row + one.rows))
        first = blocks[0].offset - HEADER_BYTES
        # Each log declares its datasets; another log of the writer may do for it.
        others = len(list(path.parent.glob("0*.log"))) > 1
        return hit if others or changed.isdisjoint(range(first)) else whole


def digest(path: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and time, to see that nobody touched it."""
    found = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return {os.fspath(one): (one.read_bytes(), one.stat().st_mtime_ns) for one in found}
