"""Which rows of one HDF5 dataset still read: found piece by piece, in a process that may die of it.

Rows are counted along the first axis. A row is good when every chunk that holds some of it reads.
What HDF5 would invent does not count: chunks for which nothing is stored (it shows its fill
value), and everything behind the end of a file that is cut (it shows zeros).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import ceil, prod
from typing import Any

from holdfast.rows.storage import add_text
from holdfast.rows.sums import Sum

BLOCK_BYTES = 16 << 20  # read at once while all goes well
CHUNK_BYTES_MAX = 2 << 30
CHUNKS_MAX = 4_000_000
CHUNKS_TRIED_MAX = 20_000  # one by one, where the index of chunks is damaged
PIECES_MAX = 100_000
WHY_LENGTH_MAX = 200
_DEFLATE, _FLETCHER32 = 1, 3
_COMPACT, _CONTIGUOUS, _CHUNKED = 0, 1, 2
CUT = "the file is cut before them"

Begin = Callable[[int], bool]  # say that these rows come now; False: they killed us before
Slices = tuple[tuple[int, int], ...]


@dataclass
class Found:
    """What is known of a dataset's rows."""

    rows: int
    good: list[list[int]] = field(default_factory=list)  # [first, behind the last]
    pieces: list[Slices] = field(default_factory=list)  # chunks that read, of rows that do not
    lost: list[tuple[int, int, str]] = field(default_factory=list)
    unstored: list[list[int]] = field(default_factory=list)
    checked_by: str = ""
    xxh3: Sum | None = field(default_factory=Sum)  # of all rows in order; None: not all are good

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"xxh3": self.xxh3 and self.xxh3.intdigest()}

    def add_good(self, start: int, stop: int) -> None:
        if self.good and self.good[-1][1] == start:
            self.good[-1][1] = stop
        elif stop > start:
            self.good.append([start, stop])

    def add_lost(self, start: int, stop: int, why: str) -> None:
        if self.lost and self.lost[-1][1] == start and self.lost[-1][2] == why:
            start = self.lost.pop()[0]
        if stop > start:
            self.lost.append((start, stop, why))

    def add_unstored(self, start: int, stop: int) -> None:
        if self.unstored and self.unstored[-1][1] == start:
            self.unstored[-1][1] = stop
        elif stop > start:
            self.unstored.append([start, stop])


@dataclass(frozen=True)
class Stored:
    """Where a chunk lies."""

    mask: int
    offset: int
    size: int


def find(dataset: Any, *, limit: int, header_checked: bool, begin: Begin) -> Found:
    """Read everything; `limit` is how many bytes of the file are there."""
    shape = dataset.shape
    if shape is None or 0 in shape:
        return Found(0, checked_by="nothing to check")
    plist = dataset.id.get_create_plist()
    if plist.get_external_count() or dataset.is_virtual:
        rows = shape[0] if shape else 1
        return Found(rows, lost=[(0, rows, "they lie in other files: rescue those")])
    layout = plist.get_layout()
    if layout == _CHUNKED:
        return _Chunked(dataset, plist, limit, begin).find()
    if layout == _CONTIGUOUS:
        return _contiguous(dataset, limit, begin)
    found = Found(shape[0] if shape else 1)
    _read(dataset, found, 0, found.rows, begin)
    if header_checked and not has_references(dataset.id.get_type()):
        found.checked_by = "the checksum of its header"
    return found


def has_references(kind: Any) -> bool:
    """Whether values lie elsewhere in the file, where no chunk's checksum covers them."""
    import h5py  # noqa: PLC0415

    if isinstance(kind, h5py.h5t.TypeVlenID | h5py.h5t.TypeReferenceID):
        return True
    if isinstance(kind, h5py.h5t.TypeStringID):
        return bool(kind.is_variable_str())
    if isinstance(kind, h5py.h5t.TypeCompoundID):
        return any(has_references(kind.get_member_type(n)) for n in range(kind.get_nmembers()))
    if isinstance(kind, h5py.h5t.TypeArrayID):
        return has_references(kind.get_super())
    return False


def why_of(error: BaseException) -> str:
    return f"{error}"[:WHY_LENGTH_MAX] or type(error).__name__


def _contiguous(dataset: Any, limit: int, begin: Begin) -> Found:
    rows = dataset.shape[0] if dataset.shape else 1
    found = Found(rows)
    offset = dataset.id.get_offset()
    if offset is None:
        found.add_unstored(0, rows)
        return found
    row_bytes = max(1, dataset.id.get_type().get_size() * prod(dataset.shape[1:]))
    there = min(rows, max(0, limit - offset) // row_bytes)
    step = max(1, BLOCK_BYTES // row_bytes)
    for start in range(0, there, step):
        _read(dataset, found, start, min(there, start + step), begin)
    found.add_lost(there, rows, CUT)
    return found


def _read(dataset: Any, found: Found, start: int, stop: int, begin: Begin) -> None:
    """These rows at once; where that fails, halves of them, down to a single one."""
    if not begin(start):
        found.add_lost(start, stop, "the HDF5 library crashed or hung over them")
        return
    try:
        rows = dataset[start:stop] if dataset.shape else dataset[()]
    except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
        if stop - start <= 1 or len(found.lost) > PIECES_MAX:
            found.add_lost(start, stop, why_of(error))
            return
        middle = (start + stop) // 2
        _read(dataset, found, start, middle, begin)
        _read(dataset, found, middle, stop, begin)
        return
    _add_sum(found, rows, start)
    found.add_good(start, stop)


def _add_sum(found: Found, rows: Any, start: int) -> None:
    """Goes on over all rows from the first one as long as none is missing."""
    if found.xxh3 is None or (start and found.good[-1:] != [[0, start]]):
        found.xxh3 = None
    elif hasattr(rows, "dtype") and rows.dtype.kind != "O":
        found.xxh3.update(rows.tobytes())
    elif hasattr(rows, "reshape") and all(isinstance(v, bytes | str) for v in rows.reshape(-1)):
        add_text(found.xxh3, rows)
    else:
        found.xxh3 = None


class _Chunked:
    """A dataset in chunks: each is somewhere in the file, and each may be bad by itself."""

    def __init__(self, dataset: Any, plist: Any, limit: int, begin: Begin) -> None:
        self._dataset = dataset
        self._limit = limit
        self._begin = begin
        self._shape: tuple[int, ...] = dataset.shape
        self._chunk: tuple[int, ...] = dataset.chunks
        self._filters = [plist.get_filter(n)[0] for n in range(plist.get_nfilters())]
        self._found = Found(self._shape[0])
        self._stored: dict[tuple[int, ...], Stored] = {}
        self._index_why = ""

    def find(self) -> Found:
        chunk_bytes = prod(self._chunk) * self._dataset.id.get_type().get_size()
        if chunk_bytes > CHUNK_BYTES_MAX:
            self._found.add_lost(0, self._shape[0], f"chunks of {chunk_bytes} bytes: not plausible")
            return self._found
        self._read_index()
        across = prod(ceil(n / c) for n, c in zip(self._shape[1:], self._chunk[1:], strict=True))
        bands: dict[int, int] = {}
        for where in self._stored:
            bands[where[0]] = bands.get(where[0], 0) + 1
        step = max(1, BLOCK_BYTES // max(1, chunk_bytes * across)) * self._chunk[0]
        for start, stop, whole in _runs(bands, across, self._chunk[0], self._shape[0]):
            if not whole:
                self._missing(start, stop, any_stored=start in bands)
                continue
            for first in range(start, stop, step):
                self._band(first, min(stop, first + step))
        self._found.checked_by = self._checked_by()
        return self._found

    def _read_index(self) -> None:
        """All chunks that the index knows, if they fit together."""
        try:
            self._dataset.id.chunk_iter(self._add_chunk)
        except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
            self._index_why = why_of(error)
            self._stored.clear()
            self._try_each()
        at = 0
        for one in sorted(self._stored.values(), key=lambda one: one.offset):
            if one.offset < at:
                self._index_why = self._index_why or "two chunks lie at one place"
            at = one.offset + one.size

    def _add_chunk(self, found: Any) -> None:
        where = tuple(found.chunk_offset)
        fits = all(
            not at % size and at < extent
            for at, size, extent in zip(where, self._chunk, self._shape, strict=True)
        )
        if len(self._stored) >= CHUNKS_MAX:
            raise ValueError(f"more than {CHUNKS_MAX} chunks")
        if where in self._stored:
            raise ValueError("a chunk is there twice")
        if not fits:
            self._index_why = "a chunk lies outside of the dataset"
            return
        self._stored[where] = Stored(found.filter_mask, found.byte_offset or 0, found.size)

    def _try_each(self) -> None:
        """By its place, one after the other: what hangs on the whole part of the index is found."""
        grid = [range(0, n, c) for n, c in zip(self._shape, self._chunk, strict=True)]
        for number, where in enumerate(_places(grid)):
            if number >= CHUNKS_TRIED_MAX:
                return
            try:
                found = self._dataset.id.get_chunk_info_by_coord(where)
            except Exception:  # noqa: BLE001 - the chunk counts as missing
                continue
            if found.byte_offset is not None and found.size:
                self._stored[where] = Stored(found.filter_mask, found.byte_offset, found.size)

    def _missing(self, start: int, stop: int, *, any_stored: bool) -> None:
        """Rows of which not all chunks are known."""
        if any_stored:
            for first in range(start, stop, self._chunk[0]):
                self._single_chunks(first)
        if self._index_why:
            self._found.add_lost(start, stop, f"the index of chunks is damaged: {self._index_why}")
        else:
            self._found.add_unstored(start, stop)

    def _band(self, start: int, stop: int) -> None:
        """Rows whose chunks are all known: at once, by halves of chunks, by single chunks."""
        chunks = [self._stored[where] for where in self._grid(start, stop)]
        why = CUT if any(one.offset + one.size > self._limit for one in chunks) else ""
        if not why and not self._begin(start):
            why = "the HDF5 library crashed or hung over them"
        if not why:
            try:
                rows = self._dataset[start:stop]
            except Exception as error:  # noqa: BLE001 - any of h5py's; it goes into the report
                why = why_of(error)
            else:
                _add_sum(self._found, rows, start)
                self._found.add_good(start, stop)
                return
        height = self._chunk[0]
        if stop - start > height:
            middle = start + ceil((stop - start) / height) // 2 * height
            self._band(start, middle)
            self._band(middle, stop)
            return
        self._single_chunks(start)
        self._found.add_lost(start, stop, why)

    def _single_chunks(self, start: int) -> None:
        """Of rows that do not read whole, the chunks that do."""
        places = list(self._grid(start, start + self._chunk[0]))
        if len(places) < 2 or len(self._found.pieces) > PIECES_MAX:  # noqa: PLR2004
            return
        for where in places:
            one = self._stored.get(where)
            if one is None or one.offset + one.size > self._limit:
                continue
            slices = tuple(
                (at, min(at + size, extent))
                for at, size, extent in zip(where, self._chunk, self._shape, strict=True)
            )
            if not self._begin(start):
                return
            try:
                self._dataset[tuple(slice(*one) for one in slices)]
            except Exception:  # noqa: BLE001 - the rows are reported as lost
                continue
            self._found.pieces.append(slices)

    def _grid(self, start: int, stop: int) -> Iterator[tuple[int, ...]]:
        sides = [range(0, n, c) for n, c in zip(self._shape[1:], self._chunk[1:], strict=True)]
        return _places([range(start, min(stop, self._shape[0]), self._chunk[0]), *sides])

    def _checked_by(self) -> str:
        """What vouches for every chunk; a filter that was skipped for one vouches for none."""
        if self._index_why or has_references(self._dataset.id.get_type()):
            return ""
        for number, name in (
            (_FLETCHER32, "fletcher32 of each chunk"),
            (_DEFLATE, "gzip's adler32"),
        ):
            if number in self._filters:
                bit = 1 << self._filters.index(number)
                if not any(one.mask & bit for one in self._stored.values()):
                    return name
        return ""


def _runs(
    bands: dict[int, int], across: int, height: int, rows: int
) -> Iterator[tuple[int, int, bool]]:
    """Rows of the dataset in order, and whether all chunks of them are known."""
    at = 0
    start: int | None = None
    for first in sorted(bands):
        whole = bands[first] == across
        if start is not None and (first != at or not whole):
            yield start, min(at, rows), True
            start = None
        if first > at:
            yield at, first, False
        if whole:
            start = first if start is None else start
        else:
            yield first, min(first + height, rows), False
        at = first + height
    if start is not None:
        yield start, min(at, rows), True
    if at < rows:
        yield at, rows, False


def _places(grid: list[range]) -> Iterator[tuple[int, ...]]:
    if not grid:
        yield ()
        return
    first, *rest = grid
    for at in first:
        for more in _places(rest):
            yield (at, *more)
