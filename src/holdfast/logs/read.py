"""Reads logs as a whole: which files, in which parts, by how many processes, into facts."""

import os
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from holdfast.diagnose import words_to_hear
from holdfast.logs.content import is_one_piece
from holdfast.logs.joined import Joined
from holdfast.logs.part import HeardPart, Part
from holdfast.logs.readers import scanned_by
from holdfast.logs.scan_part import scan_part
from holdfast.logs.sources import FILES_MAX, Source, list_sources
from holdfast.model.facts import Fact
from holdfast.model.hearing import Heard, settle

PART_BYTES = 64 << 20
ALONE_BYTES_MAX = 48 << 20  # as much is read before another process has started

Progress = Callable[[int, int], None]  # bytes done, bytes in all as far as one knows
Place = tuple[int, int]  # of a log: which path, and which member of that archive
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
    heards = joining.heards()
    return Reading(
        facts=settle(heards) if heards else [],
        unknown=(*listing.unknown, *joining.unknown()),
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
        yield from _scanned_here(here, patterns)
        many = sum(part.size for part in elsewhere) > ALONE_BYTES_MAX
        processes = (jobs or len(os.sched_getaffinity(0))) if many else 1
        if processes > 1 and len(elsewhere) > 1:
            yield from scanned_by(processes, elsewhere, patterns)
        else:
            yield from _scanned_here(elsewhere, patterns)

    return scan


def _scanned_here(todo: Sequence[Part], patterns: tuple[str, ...]) -> Iterator[HeardPart]:
    for part in todo:
        yield from scan_part(part, patterns)


def _parts_of(source: Source, part_bytes: int) -> Iterator[Part]:
    path, name, size = source.path, source.name, source.size
    if not source.is_file or size <= part_bytes or is_one_piece(path):
        yield Part(path=path, source=name, size=size, is_file=source.is_file)
        return
    for start in range(0, size, part_bytes):
        # The last part ends where the file does, also when it has grown meanwhile.
        end = start + part_bytes if start + part_bytes < size else -1
        yield Part(path=path, source=name, start=start, end=end, size=min(part_bytes, size - start))


class _Joining:
    """Puts parts that come in any order together, each file by itself, in the order given.

    Of many archives more logs may come than are read of folders: then the first ones stay.
    """

    def __init__(self, sources: Sequence[Source], todo: Sequence[Part]) -> None:
        self.bytes_read = 0
        self._order = {source.path: number for number, source in enumerate(sources)}
        self._joined = {source.path: Joined(source.name) for source in sources}
        self._awaited = {source.path: 0 for source in sources}
        self._missing = Counter(part.path for part in todo)
        self._early: dict[tuple[bytes, int], HeardPart] = {}
        self._heards: dict[Place, Heard] = {}
        self._places: list[Place] = []  # of what was heard, sorted
        self._unknown: dict[Place, list[str]] = {}
        self._beyond = 0

    def heards(self) -> list[Heard]:
        return [self._heards[place] for place in self._places]

    def unknown(self) -> Iterator[str]:
        for place in sorted(self._unknown):
            yield from self._unknown[place]
        if self._beyond:
            yield f"{self._beyond:,} more logs in archives: at most {FILES_MAX:,} are read"

    def add(self, heard: HeardPart) -> None:
        path = heard.part.path
        if heard.part.member:
            member = Joined(heard.part.source)
            member.add(heard)
            self._finish((self._order[path], heard.part.member), member, member.heard())
            return
        self._early[path, heard.part.start] = heard
        while (path, self._awaited[path]) in self._early:
            found = self._early.pop((path, self._awaited[path]))
            self._joined[path].add(found)
            self._awaited[path] = found.part.end
            self._missing[path] -= 1
        if not self._missing[path]:
            joined = self._joined.pop(path)
            said = None if heard.is_archive else joined.heard()
            self._finish((self._order[path], 0), joined, said)

    def _finish(self, place: Place, joined: Joined, heard: Heard | None) -> None:
        self.bytes_read += joined.bytes_read
        if joined.unknown:
            self._unknown[place] = joined.unknown
        if heard is None:
            return
        self._heards[place] = heard
        insort(self._places, place)
        if len(self._places) > FILES_MAX:
            del self._heards[self._places.pop()]
            self._beyond += 1
