"""The checkpoints of a folder, each with what is wrong with it. TensorFlow is not needed.

A look at a file server that does not answer never ends: whoever calls this has time.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.logdir.checkpoint_files import backup_epoch, hdf5_damage, index_damage, keras_damage
from holdfast.logdir.checkpoint_state import read_state
from holdfast.model.errors import BadInput
from holdfast.model.pattern import Pattern
from holdfast.recover.checkpoints import Checkpoint, Form, with_steps

NAMES_MAX = 200_000
SUFFIXES = (".weights.h5", ".keras", ".h5", ".hdf5")
BACKUP, METADATA, BEFORE = "latest.weights.h5", "training_metadata.json", ".bkp"
CHIEF = "chief"  # where a BackupAndRestore of Keras 2 keeps its own
_SHARD = Pattern(r"^(.+)\.data-(\d{5})-of-(\d{5})$")
_NUMBERED = Pattern(r"^(.*)-(\d{1,18})$")


@dataclass(frozen=True, slots=True)
class Listing:
    """Names and sizes of a folder's files at one moment."""

    folder: Path
    sizes: Mapping[str, int]
    written_ns: Mapping[str, int] = field(default_factory=dict)

    def written_unix_s(self, name: str) -> float:
        return self.written_ns.get(name, 0) / 1e9


def list_files(folder: Path) -> Listing:
    """What is there now; nothing, if there is no such folder."""
    sizes: dict[str, int] = {}
    written_ns: dict[str, int] = {}
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= NAMES_MAX:
                    raise BadInput(
                        f"{folder} holds more than {NAMES_MAX} files",
                        do="keep checkpoints in a folder of their own",
                    )
                found = _stat(entry)
                if found is not None and stat.S_ISREG(found.st_mode):
                    sizes[entry.name] = found.st_size
                    written_ns[entry.name] = found.st_mtime_ns
    except OSError:
        return Listing(folder, {})
    return Listing(folder, sizes, written_ns)


def _stat(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:  # removed just now, or a link that leads nowhere
        return None


def find_checkpoints(folder: Path, *, earlier: Listing | None = None) -> list[Checkpoint]:
    """All kinds, in no order. A file that is shorter than in an earlier listing is cut."""
    listing = list_files(folder)
    before = earlier.sizes if earlier is not None else {}
    found = [*_bundles(listing, before), *_backups(listing), *_single_files(listing, before)]
    if (folder / CHIEF).is_dir():
        found += _bundles(list_files(folder / CHIEF), {})
    return with_steps(found)


def _bundles(listing: Listing, before: Mapping[str, int]) -> Iterator[Checkpoint]:
    shards: dict[str, dict[int, set[int]]] = {}  # prefix -> how many there must be -> which are
    for name in listing.sizes:
        shard = _SHARD.search(name)
        if shard is not None:
            prefix, number, total = shard.group(1), int(shard.group(2)), int(shard.group(3))
            shards.setdefault(prefix, {}).setdefault(total, set()).add(number)
    indexed = {name.removesuffix(".index") for name in listing.sizes if name.endswith(".index")}
    listed = {name: place for place, name in enumerate(read_state(listing.folder))}
    for prefix in sorted(indexed | shards.keys()):
        numbered = _NUMBERED.search(prefix)
        number = int(numbered.group(2)) if numbered else -1
        index = f"{prefix}.index"
        written_s = listing.written_unix_s(index)
        yield Checkpoint(
            path=str(listing.folder / prefix),
            form=Form.BUNDLE,
            family=str(listing.folder / (numbered.group(1) if numbered else prefix)),
            order=_order(prefix, number, listed, listing),
            written_unix_s=written_s or _newest_shard_s(listing, prefix),
            number=number,
            is_step=number >= 0 and f"{prefix}.meta" in listing.sizes,
            damage=index_damage(listing.folder / index)
            or _shards_damage(listing, prefix, shards.get(prefix, {}))
            or _shrunk(listing, before, f"{prefix}."),
        )


def _order(
    prefix: str, number: int, listed: Mapping[str, int], listing: Listing
) -> tuple[int, int]:
    """As the program's own list has them; newer ones that it had no time to list come last.

    Numbers begin anew where a training does: what another one left behind is older.
    """
    if prefix in listed:
        return 1, listed[prefix]
    newest = max((listing.written_ns.get(f"{name}.index", 0) for name in listed), default=0)
    written = listing.written_ns.get(f"{prefix}.index", 0) or _newest_shard_s(listing, prefix) * 1e9
    place = number if number >= 0 else int(written)
    return (2 if listed and written > newest else 0), place


def _newest_shard_s(listing: Listing, prefix: str) -> float:
    times = (listing.written_unix_s(name) for name in listing.sizes if _is_shard(name, prefix))
    return max(times, default=0.0)


def _is_shard(name: str, prefix: str) -> bool:
    return name.startswith(f"{prefix}.data-") and _SHARD.search(name) is not None


def _shards_damage(listing: Listing, prefix: str, shards: Mapping[int, set[int]]) -> str:
    """Of one number of shards all must be there: another number is left from an earlier save."""
    if not shards:
        return "its shards are missing"
    whole = [total for total, there in shards.items() if there >= set(range(total))]
    if not whole:
        total, there = max(shards.items(), key=lambda item: len(item[1]) / max(item[0], 1))
        missing = min(set(range(total)) - there)
        return f"shard {missing} of {total} is missing"
    for number in range(whole[0]):
        if listing.sizes[f"{prefix}.data-{number:05d}-of-{whole[0]:05d}"] == 0:
            return f"shard {number} of {whole[0]} is empty"
    return ""


def _shrunk(listing: Listing, before: Mapping[str, int], start: str) -> str:
    for name, size in before.items():
        if name.startswith(start) and name in listing.sizes and listing.sizes[name] < size:
            return f"{name} has {listing.sizes[name]} bytes, and had {size} before"
    return ""


def _backups(listing: Listing) -> Iterator[Checkpoint]:
    """What BackupAndRestore of Keras 3 keeps: the last state, and the one before it if asked."""
    if METADATA not in listing.sizes and METADATA + BEFORE not in listing.sizes:
        return
    for place, suffix in enumerate((BEFORE, "")):
        name = BACKUP + suffix
        if name not in listing.sizes and not (suffix == "" and METADATA in listing.sizes):
            continue
        epoch = backup_epoch(listing.folder / (METADATA + suffix))
        told = "" if epoch is not None else f"{METADATA + suffix} cannot be used"
        there = name in listing.sizes
        yield Checkpoint(
            path=str(listing.folder / name),
            form=Form.BACKUP,
            family=str(listing.folder / BACKUP),
            order=(place, 0),
            written_unix_s=listing.written_unix_s(name),
            number=-1 if epoch is None else epoch,
            damage=(hdf5_damage(listing.folder / name) if there else "it is missing") or told,
        )


def _single_files(listing: Listing, before: Mapping[str, int]) -> Iterator[Checkpoint]:
    """Numbers in these names may be epochs or losses: the newest is what was written last."""
    for name in sorted(listing.sizes):
        suffix = next((one for one in SUFFIXES if name.endswith(one)), "")
        if not suffix or name == BACKUP:
            continue
        damage = keras_damage if suffix == ".keras" else hdf5_damage
        yield Checkpoint(
            path=str(listing.folder / name),
            form=Form.KERAS if suffix == ".keras" else Form.HDF5,
            family=str(listing.folder / f"*{suffix}"),
            order=(listing.written_ns[name], 0),
            written_unix_s=listing.written_unix_s(name),
            damage=damage(listing.folder / name) or _shrunk(listing, before, name),
        )
