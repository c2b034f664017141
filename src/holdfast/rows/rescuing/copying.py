"""Writes what still reads of a damaged HDF5 file into a new one: a job for a child."""

import json
from math import prod
from typing import Any

from holdfast.rows.rescuing.carving import PLACE, dataset_at
from holdfast.rows.rescuing.pieces import BLOCK_BYTES, why_of
from holdfast.rows.rescuing.walk import Tell

LOST_ATTRIBUTE = "_holdfast_lost_rows"
RANGES_NOTED_MAX = 1000


def copy_all(source: Any, target: Any, plan: list[dict[str, Any]], tell: Tell) -> None:
    """Everything in the plan, which is what a walk told; a thing that fails is told, and left."""
    for told in plan:
        for kind, act in _ACTS.items():
            if kind in told:
                name = told[kind]
                tell({"begin": [name, "copy"]})
                try:
                    act(source, target, told, tell)
                except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
                    target.pop(name, None) if name else None
                    tell({"not_copied": name, "why": why_of(error)})
                break


def _group(source: Any, target: Any, told: dict[str, Any], tell: Tell) -> None:
    name = told["group"]
    made = target.require_group(name) if name else target
    _attributes(source[name] if name else source, made, told, tell)


def _dataset(source: Any, target: Any, told: dict[str, Any], tell: Tell) -> None:
    name = told["dataset"]
    parent, _, short = name.rpartition("/")
    group = target.require_group(parent) if parent else target
    is_nameless = name.startswith(f"{PLACE}/")
    found = dataset_at(source, told["address"]) if is_nameless else source[name]
    if not told["lost"]:
        source.copy(found, group, name=short, without_attrs=True)
        made = group[short]
    else:
        made = _made_like(found, group, short)
        for start, stop in told["good"]:
            _rows(found, made, start, stop)
        for slices in told["pieces"]:
            where = tuple(slice(*one) for one in slices)
            made[where] = found[where]
        ranges = [one[:2] for one in told["lost"][:RANGES_NOTED_MAX]]
        made.attrs[LOST_ATTRIBUTE] = json.dumps([[first, last - 1] for first, last in ranges])
    _attributes(found, made, told, tell)


def _made_like(found: Any, group: Any, short: str) -> Any:
    """In chunks, so that lost rows take no room; they show NaN, or the old fill value."""
    import h5py  # noqa: PLC0415

    if h5py.check_ref_dtype(found.dtype):
        raise TypeError("references into the old file cannot be carried over")
    fill = found.fillvalue if found.dtype.names is None else None
    return group.create_dataset(
        short,
        shape=found.shape,
        maxshape=found.maxshape,
        dtype=found.dtype,
        chunks=found.chunks or _chunks(found),
        compression=found.compression,
        compression_opts=found.compression_opts,
        shuffle=found.shuffle,
        fletcher32=found.fletcher32,
        fillvalue=float("nan") if found.dtype.kind == "f" else fill,
    )


def _chunks(found: Any) -> tuple[int, ...]:
    row_bytes = max(1, found.dtype.itemsize * prod(found.shape[1:]))
    return (max(1, min(found.shape[0], (1 << 20) // row_bytes)), *found.shape[1:])


def _rows(found: Any, made: Any, start: int, stop: int) -> None:
    row_bytes = max(1, found.dtype.itemsize * prod(found.shape[1:]))
    step = max(1, BLOCK_BYTES // row_bytes)
    for first in range(start, stop, step):
        last = min(stop, first + step)
        made[first:last] = found[first:last]


def _attributes(found: Any, made: Any, told: dict[str, Any], tell: Tell) -> None:
    for key, why in told["attrs"].items():
        if why:
            continue
        try:
            dtype = found.attrs.get_id(key).dtype
            made.attrs.create(key, found.attrs[key], dtype=dtype)
        except Exception as error:  # noqa: BLE001 - it goes into the report
            name = told.get("dataset", told.get("group", ""))
            tell({"attribute_lost": name, "key": key, "why": why_of(error)})


def _soft(source: Any, target: Any, told: dict[str, Any], tell: Tell) -> None:
    import h5py  # noqa: PLC0415

    target[told["soft"]] = h5py.SoftLink(told["to"])


def _external(source: Any, target: Any, told: dict[str, Any], tell: Tell) -> None:
    import h5py  # noqa: PLC0415

    target[told["external"]] = h5py.ExternalLink(told["file"], told["to"])


def _same(source: Any, target: Any, told: dict[str, Any], tell: Tell) -> None:
    target[told["same"]] = target[told["as"]]


def _type(source: Any, target: Any, told: dict[str, Any], tell: Tell) -> None:
    parent, _, short = told["type"].rpartition("/")
    source.copy(source[told["type"]], target.require_group(parent or "/"), name=short)


_ACTS = {
    "group": _group,
    "dataset": _dataset,
    "soft": _soft,
    "external": _external,
    "same": _same,
    "type": _type,
}
