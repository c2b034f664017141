"""Scans parts of logs: a plain function, and a process that does it for whoever asks."""

import sys
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from holdfast.logs.content import Content
from holdfast.logs.filter import Telling
from holdfast.logs.part import HeardPart, Part
from holdfast.logs.scan import scan
from holdfast.logs.scan_archive import scan_archive
from holdfast.model.pattern import Pattern


def scan_part(part: Part, patterns: Sequence[str]) -> Iterator[HeardPart]:
    """What one part tells; an unreadable one tells why. Values in and out can be sent as JSON.

    Of an archive, each member tells for itself; the part itself always comes last.
    """
    try:
        with Content(part) as content:
            if content.archive:
                yield from scan_archive(part, content, _telling(tuple(patterns)))
            else:
                yield _scanned(part, content, _telling(tuple(patterns)))
    except OSError as error:
        why = error.strerror or str(error)
        yield HeardPart(part=part, unknown=(f"{part.source}: {why}",))


def _scanned(part: Part, content: Content, telling: Telling) -> HeardPart:
    heard = scan(part, content.read, telling, inside=content.inside, above=content.above)
    if content.why:
        heard = msgspec.structs.replace(heard, unknown=(f"{part.source}: {content.why}",))
    return heard


@cache
def _telling(patterns: tuple[str, ...]) -> Telling:
    return Telling(map(Pattern, patterns))


def main() -> None:
    """A first line of patterns, then a line for each part; what it told goes out as a line."""
    patterns = msgspec.json.decode(sys.stdin.buffer.readline(), type=tuple[str, ...])
    _telling(patterns)
    for line in sys.stdin.buffer:
        for heard in scan_part(msgspec.json.decode(line, type=Part), patterns):
            sys.stdout.buffer.write(msgspec.json.encode(heard) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
