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
    closer: bytes  # what the line that showed the end is like; empty: it began something else


@dataclass(slots=True)
class Repeats:
    """The same traceback in a loop of retries is read once; then it is only recognised."""

    _known: dict[tuple[bytes, bytes], _Repeat] = field(default_factory=dict)

    def learn(self, told: Told, text: bytes, *, closed_by_last: bool) -> None:
        """A telling line and the lines that followed it, `text` being all that followed.

        The last of them may only have shown that the others are over: then its numbers may differ.
        """
        closer = b""
        if closed_by_last:
            text = text[: text.rfind(b"\n", 0, len(text) - 1) + 1]
            closer = likeness(told.lines[-1].raw)
        short = len(text) <= TEXT_BYTES_MAX and len(self._known) < REPEATS_MAX
        if short and text.endswith(b"\n") and (closer or not closed_by_last):
            key = (likeness(told.lines[0].raw), text[: text.find(b"\n")])
            self._known[key] = _Repeat(told, text, closer)

    def again(
        self, line: ToldLine, before: bytes, block: bytes, at: int, stop: int
    ) -> tuple[Told, int] | None:
        """The same once more, if the block has it at that place, and how many bytes it takes."""
        first = block[at : block.find(b"\n", at, stop)]
        known = self._known.get((likeness(line.raw), first))
        if known is None or not block.startswith(known.text, at):
            return None
        end = at + len(known.text)
        closing_end = block.find(b"\n", end, stop)  # what comes next decides whether it is over
        if closing_end < 0:
            return None
        begun = known.told.lines[0]
        shift = line.offset + len(line.raw) - begun.offset - len(begun.raw)
        rest = known.told.lines[1:-1] if known.closer else known.told.lines[1:]
        lines = [
            line,
            *(
                ToldLine(one.line - begun.line + line.line, one.offset + shift, one.raw, one.told)
                for one in rest
            ),
        ]
        if known.closer:
            closing = block[end:closing_end]
            if likeness(closing) != known.closer:
                return None
            last = known.told.lines[-1]
            number = last.line - begun.line + line.line
            lines.append(ToldLine(number, last.offset + shift, closing, last.told))
            end = closing_end + 1
        told = Told(lines=tuple(lines), before=before, likeness=known.told.likeness)
        return told, end - at
