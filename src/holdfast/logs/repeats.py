"""What followed a telling line once, and follows it again and again: known without reading it."""

from dataclasses import dataclass, field

from holdfast.logs.kept import likeness
from holdfast.logs.part import Told, ToldLine

REPEATS_MAX = 256
TEXT_BYTES_MAX = 32 << 10


@dataclass(frozen=True, slots=True)
class _Repeat:
    told: Told
    text: bytes  # of the lines that followed, with their ends
    closer: bytes  # what the line is like that showed their end
    takes_closer: bool  # whether that line was kept with them, or began something else


@dataclass(slots=True)
class Repeats:
    """The same traceback in a loop of retries is read once; then it is only recognised."""

    _known: dict[tuple[bytes, bytes], _Repeat] = field(default_factory=dict)

    def learn(self, told: Told, text: bytes, closer: bytes, *, takes_closer: bool) -> None:
        """A telling line and what followed it, up to the line that showed the end."""
        short = len(text) <= TEXT_BYTES_MAX and len(self._known) < REPEATS_MAX
        if short and text.endswith(b"\n"):
            key = (likeness(told.lines[0].raw), text[: text.find(b"\n")])
            self._known[key] = _Repeat(told, text, likeness(closer), takes_closer)

    def again(
        self, line: ToldLine, before: bytes, block: bytes, at: int, stop: int
    ) -> tuple[Told, int] | None:
        """The same once more, if the block has it at that place, and how many bytes it takes."""
        first = block[at : block.find(b"\n", at, stop)]
        known = self._known.get((likeness(line.raw), first))
        if known is None or not block.startswith(known.text, at):
            return None
        end = at + len(known.text)
        closer_end = block.find(b"\n", end, stop)
        if closer_end < 0 or likeness(block[end:closer_end]) != known.closer:
            return None
        begun = known.told.lines[0]
        shift = line.offset + len(line.raw) - begun.offset - len(begun.raw)
        moved = [
            ToldLine(one.line - begun.line + line.line, one.offset + shift, one.raw, one.told)
            for one in known.told.lines[1:]
        ]
        if known.takes_closer:  # its numbers may differ
            last = moved.pop()
            moved.append(ToldLine(last.line, last.offset, block[end:closer_end], last.told))
            end = closer_end + 1
        told = Told(lines=(line, *moved), before=before, likeness=known.told.likeness)
        return told, end - at
