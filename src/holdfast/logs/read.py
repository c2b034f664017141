"""Reads logs as a whole: which files, in which parts, by how many processes, into facts."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from holdfast.diagnose import words_to_hear
from holdfast.logs.content import is_packed
from holdfast.logs.joined import Joined
from holdfast.logs.part import HeardPart, Part
from holdfast.logs.readers import scanned_by
from holdfast.logs.scan_part import scan_part
from holdfast.logs.sources import Source, list_sources
from holdfast.model.facts import Fact
from holdfast.model.hearing import Heard, settle

PART_BYTES = 64 << 20
ALONE_BYTES_MAX = 48 << 20  # as much is read before another process has started

Progress = Callable[[int, int], None]  # bytes done, bytes in all as far as one knows
Scan = Callable[[Sequence[Part], tuple[str, ...]], Iterator[HeardPart]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the logs said, and what could not be read of them."""

    facts: list[Fact]
    unknown: tuple[str, ...]
    files: int
    bytes_read: int


def read(paths: Sequence[str], *, jobs: int = 0, on_progress: Progress | None = None) -> Reading:
    """All that the logs tell, the same for any number of `jobs`; 0 means one for each core."""
    return read_with(local_scan(jobs), paths, on_progress=on_progress)


def read_with(scan: Scan, paths: Sequence[str], *, on_progress: Progress | None = None) -> Reading:
    """As `read`; `scan` gives what each part told, in any order, from wherever it runs."""
    listing = list_sources(paths)
    todo = parts(listing.sources)
    patterns = tuple(pattern.text for pattern in words_to_hear())
    joining = _Joining(listing.sources, todo)
    total = sum(source.size for source in listing.sources)
    done = 0
    for heard in scan(todo, patterns):
        joining.add(heard)
        done += heard.part.size
        if on_progress:
            on_progress(done, total)
    heards = [heard for heard in joining.heards.values() if heard]
    return Reading(
        facts=settle(heards) if heards else [],
        unknown=(*listing.unknown, *joining.unknown),
        files=len(heards),
        bytes_read=joining.bytes_read,
    )


def parts(sources: Sequence[Source], *, part_bytes: int = PART_BYTES) -> list[Part]:
    """What a process reads at a time: large files in pieces, the same for any number of jobs."""
    return [part for source in sources for part in _parts_of(source, part_bytes)]


def local_scan(jobs: int) -> Scan:
    """On this host: in this process where there is little to read, else in others."""

    def scan(todo: Sequence[Part], patterns: tuple[str, ...]) -> Iterator[HeardPart]:
        here = [part for part in todo if not part.is_file]
        elsewhere = [part for part in todo if part.is_file]
        yield from (scan_part(part, patterns) for part in here)
        many = sum(part.size for part in elsewhere) > ALONE_BYTES_MAX
        processes = (jobs or len(os.sched_getaffinity(0))) if many else 1
        if processes > 1 and len(elsewhere) > 1:
            yield from scanned_by(processes, elsewhere, patterns)
        else:
            yield from (scan_part(part, patterns) for part in elsewhere)

    return scan


def _parts_of(source: Source, part_bytes: int) -> Iterator[Part]:
    path, name, size = source.path, source.name, source.size
    if not source.is_file or size <= part_bytes or is_packed(path):
        yield Part(path=path, source=name, size=size, is_file=source.is_file)
        return
    for start in range(0, size, part_bytes):
        # The last part ends where the file does, also when it has grown meanwhile.
        end = start + part_bytes if start + part_bytes < size else -1
        yield Part(path=path, source=name, start=start, end=end, size=min(part_bytes, size - start))


class _Joining:
    """Puts parts that come in any order together, each file by itself."""

    def __init__(self, sources: Sequence[Source], todo: Sequence[Part]) -> None:
        self.heards: dict[bytes, Heard | None] = {source.path: None for source in sources}
        self.unknown: list[str] = []
        self.bytes_read = 0
        self._joined = {source.path: Joined(source.name) for source in sources}
        self._awaited = {source.path: 0 for source in sources}
        self._missing = Counter(part.path for part in todo)
        self._early: dict[tuple[bytes, int], HeardPart] = {}

    def add(self, heard: HeardPart) -> None:
        path = heard.part.path
        self._early[path, heard.part.start] = heard
        while (path, self._awaited[path]) in self._early:
            found = self._early.pop((path, self._awaited[path]))
            self._joined[path].add(found)
            self._awaited[path] = found.part.end
            self._missing[path] -= 1
        if not self._missing[path]:
            self._finish(path)

    def _finish(self, path: bytes) -> None:
        joined = self._joined.pop(path)
        self.heards[path] = joined.heard()
        self.unknown += joined.unknown
        self.bytes_read += joined.bytes_read
