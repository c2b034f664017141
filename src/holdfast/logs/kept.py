"""What is kept of the telling lines: the first, the last, and few of those that are all alike."""

from dataclasses import dataclass, field

from holdfast.logs.part import Told

FIRST_MAX, LAST_MAX = 300, 200
ALIKE_FIRST_MAX, ALIKE_LAST_MAX = 12, 4
BYTES_MAX = 8 << 20
LIKENESSES_MAX = 20_000
_ROOM = 4 * (FIRST_MAX + LAST_MAX)
_DIGITS = b"0123456789"
LIKENESS_BYTES_MAX = 400


def likeness(raw: bytes) -> bytes:
    """The same for lines that differ in their numbers only."""
    return raw.translate(None, _DIGITS)[:LIKENESS_BYTES_MAX]


@dataclass(slots=True)
class _Alike:
    count: int = 0
    last: list[Told] = field(default_factory=list)


@dataclass(slots=True)
class Kept:
    """Fed in the order of the file; holds a bounded number of lines, and counts the others."""

    left_out: int = 0  # lines
    _first: list[Told] = field(default_factory=list)
    _alike: dict[bytes, _Alike] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, told: Told) -> None:
        known = self._alike.get(told.likeness)
        if known is None:
            known = _Alike()
            if len(self._alike) < LIKENESSES_MAX:
                self._alike[told.likeness] = known
        known.count += 1
        self._bytes += told.size
        if known.count <= ALIKE_FIRST_MAX:
            self._first.append(told)
        else:
            known.last.append(told)
            if len(known.last) > ALIKE_LAST_MAX:
                self._drop(known.last.pop(0))
        if len(self._first) > _ROOM or self._bytes > 2 * BYTES_MAX:
            self._thin_out()

    def all(self) -> tuple[Told, ...]:
        """In the order of the file."""
        self._thin_out()
        return tuple(sorted(self._everything(), key=_place))

    def _everything(self) -> list[Told]:
        return [*self._first, *(told for alike in self._alike.values() for told in alike.last)]

    def _thin_out(self) -> None:
        """Only the first and the last of all, in number and in bytes, stay."""
        ordered = sorted(self._everything(), key=_place)
        first = _fitting(ordered[:FIRST_MAX], BYTES_MAX // 2)
        rest = ordered[len(first) :]
        last = _fitting(rest[::-1][:LAST_MAX], BYTES_MAX // 2)
        for told in rest[: len(rest) - len(last)]:
            self._drop(told)
        stays = {_place(told) for told in (*first, *last)}
        self._first = [told for told in self._first if _place(told) in stays]
        for alike in self._alike.values():
            alike.last = [told for told in alike.last if _place(told) in stays]

    def _drop(self, told: Told) -> None:
        self._bytes -= told.size
        self.left_out += len(told.lines)


def _place(told: Told) -> int:
    return told.offset


def _fitting(listed: list[Told], bytes_max: int) -> list[Told]:
    """As many from the front as fit; always one."""
    total = 0
    for number, told in enumerate(listed):
        total += told.size
        if total > bytes_max and number:
            return listed[:number]
    return listed
