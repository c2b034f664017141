"""Goes through a damaged HDF5 file and says what is in it: the job of a child that may die.

Only this one file is read: links to other files are kept as links, and rows that lie in other
files are named and left alone, because a stranger's file could point anywhere.
"""

import json
from collections.abc import Callable
from typing import Any

from holdfast.rows.rescuing.carving import PLACE, dataset_at, headers
from holdfast.rows.rescuing.pieces import find, why_of

OBJECTS_MAX = 1_000_000
DEPTH_MAX = 200
TEXT_BYTES_MAX = 1 << 26
Tell = Callable[[dict[str, Any]], None]


class Walk:
    """One walk. `skip` names what killed an earlier one, `done` what it had finished."""

    def __init__(
        self,
        file: Any,
        raw: int,
        *,
        limit: int,
        base: int,
        skip: list[Any],
        done: list[str],
        tell: Tell,
    ) -> None:
        self._file = file
        self._raw = raw  # the same file, for its bare bytes
        self._limit = limit
        self._base = base
        self._skip = {tuple(one) for one in skip}
        self._done = set(done)
        self._tell = tell
        self._seen: dict[int, str] = {}
        self._left = OBJECTS_MAX
        self._is_hurt = False

    def go(self) -> None:
        self._group(self._file, "", 0)
        if self._is_hurt:
            self._nameless()

    def _nameless(self) -> None:
        """Where names are lost, datasets that no name leads to any more."""
        for address in headers(self._raw, self._limit, self._base):
            name = f"{PLACE}/at-{address}"
            if address in self._seen or name in self._done or not self._begin(name, "open"):
                continue
            try:
                found = dataset_at(self._file, address)
            except Exception:  # noqa: BLE001 - it only looked like one
                continue
            self._seen[address] = name
            self._dataset(found, name, address)

    def _group(self, group: Any, name: str, depth: int) -> None:
        if not self._begin(name, "names"):
            return
        try:
            names = list(group)
        except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
            names = self._some_names(group)
            why = why_of(error)
            self._is_hurt = True
            self._tell({"lost": name or "/", "why": f"not all of its names read: {why}"})
        self._tell({"group": name, "attrs": self._attrs(group, name)})
        for one in names:
            if self._left <= 0 or depth > DEPTH_MAX:
                self._tell({"lost": f"{name}/{one}", "why": "too many or too deep: not looked at"})
                return
            self._left -= 1
            self._link(group, one, f"{name}/{one}", depth)

    def _some_names(self, group: Any) -> list[str]:
        """Those up to the damage."""
        found: list[str] = []
        try:
            for number in range(min(OBJECTS_MAX, group.id.get_num_objs())):
                name = group.id.get_objname_by_idx(number)
                found.append(name.decode(errors="surrogateescape"))
        except Exception:  # noqa: BLE001 - the loss is in the report already
            return found
        return found

    def _link(self, group: Any, short: str, name: str, depth: int) -> None:
        import h5py  # noqa: PLC0415

        if name in self._done or not self._begin(name, "open"):
            return
        try:
            link = group.get(short, getlink=True)
            if isinstance(link, h5py.SoftLink):
                self._tell({"soft": name, "to": link.path})
                return
            if isinstance(link, h5py.ExternalLink):
                self._tell({"external": name, "file": link.filename, "to": link.path})
                return
            found = group[short]
            address = h5py.h5o.get_info(found.id).addr
        except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
            self._is_hurt = True
            self._tell({"lost": name, "why": why_of(error)})
            return
        if address in self._seen:
            self._tell({"same": name, "as": self._seen[address]})
            return
        self._seen[address] = name
        if isinstance(found, h5py.Group):
            self._group(found, name, depth + 1)
        elif isinstance(found, h5py.Dataset):
            self._dataset(found, name, address)
        else:
            self._tell({"type": name})

    def _dataset(self, dataset: Any, name: str, address: int) -> None:
        if not self._begin(name, "describe"):
            return
        try:
            is_new = self._is_new_header(address)
            about = {
                "dataset": name,
                "address": address,
                "shape": None if dataset.shape is None else list(dataset.shape),
                "dtype": str(dataset.dtype),
                "description_checked": is_new,
                "attrs": self._attrs(dataset, name),
            }
            found = find(
                dataset,
                limit=self._limit,
                header_checked=is_new,
                begin=lambda row: self._begin(name, row),
            )
        except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
            self._tell({"lost": name, "why": why_of(error), "dataset": True})
            return
        if name == "/_holdfast/datasets" and dataset.shape == () and dataset.dtype.kind == "S":
            self._declared(dataset)
        self._tell(about | found.to_json())

    def _declared(self, dataset: Any) -> None:
        """What a segment of ours says about its rows."""
        try:
            if dataset.dtype.itemsize <= TEXT_BYTES_MAX:
                self._tell({"declared": json.loads(bytes(dataset[()]))})
        except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
            self._tell({"lost": "/_holdfast/datasets", "why": why_of(error)})

    def _is_new_header(self, address: int) -> bool:
        """Whether it is of the kind that has a checksum: the old one has no signature."""
        import os  # noqa: PLC0415

        return os.pread(self._raw, 4, self._base + address) == b"OHDR"

    def _attrs(self, found: Any, name: str) -> dict[str, str]:
        """Each attribute's name, and why it does not read, if so."""
        if not self._begin(name, "attributes"):
            return {"*": "the HDF5 library crashed or hung over them"}
        told: dict[str, str] = {}
        try:
            for key in list(found.attrs):
                try:
                    found.attrs.get(key)
                    told[key] = ""
                except Exception as error:  # noqa: BLE001 - it goes into the report
                    told[key] = why_of(error)
        except Exception as error:  # noqa: BLE001 - it goes into the report
            told["*"] = why_of(error)
        return told

    def _begin(self, name: str, what: object) -> bool:
        if (name, what) in self._skip:
            self._is_hurt = True
            return False
        self._tell({"begin": [name, what]})
        return True
