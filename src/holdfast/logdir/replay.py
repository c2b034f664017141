"""What was read from a journal: the facts, and what could not be read."""

import zlib
from array import array
from dataclasses import dataclass

from holdfast.model.codec import decode
from holdfast.model.errors import BadInput
from holdfast.model.facts import Fact

_REASONS_KEPT_MAX = 8


@dataclass(frozen=True, slots=True)
class Replay:
    facts: tuple[Fact, ...]
    skipped: int = 0  # records that are lost; at least 1 when anything is
    why_skipped: str = ""


class Reading:
    """A replay while it grows."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.skipped = 0
        self._crcs = array("I")  # four bytes each: the facts' own encoding may differ by version
        self._reasons: dict[str, int] = {}

    def add(self, crc: object, record: object) -> None:
        """Keep what a record says, or count it as skipped."""
        if not isinstance(record, bytes) or zlib.crc32(record) != crc:
            self.skip("a record does not match its checksum")
            return
        self._crcs.append(zlib.crc32(record))
        try:
            self.facts.append(decode(record))
        except (BadInput, AttributeError, ValueError) as error:
            self.skip(f"a record cannot be understood ({error})")

    def skip(self, why: str, *, records: int = 1) -> None:
        self.skipped += records
        self.note(why, records=records)

    def note(self, why: str, *, records: int = 0) -> None:
        """Something is amiss, but no record is known to be lost by it."""
        if why in self._reasons or len(self._reasons) < _REASONS_KEPT_MAX:
            self._reasons[why] = self._reasons.get(why, 0) + records

    @property
    def why_skipped(self) -> str:
        return "; ".join(
            f"{why} ({times} times)" if times > 1 else why for why, times in self._reasons.items()
        )

    def crcs(self) -> set[int]:
        """The checksums of all records seen whole since the last `take`."""
        return set(self._crcs)

    def take(self) -> tuple[Fact, ...]:
        """The facts read since the last call."""
        taken, self.facts = tuple(self.facts), []
        self._crcs = array("I")
        return taken

    def to_replay(self) -> Replay:
        return Replay(tuple(self.facts), self.skipped, self.why_skipped)
