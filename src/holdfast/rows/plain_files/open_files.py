"""The source files of a merge, a bounded number of them open at a time."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final, Self

from holdfast.rows import storage
from holdfast.rows.errors import Damaged
from holdfast.rows.plain_files.sources import SourceFile, rescue_it
from holdfast.rows.plain_files.values import Selection, blocks, opened
from holdfast.rows.storage import Rows

OPEN_MAX: Final = 128


class OpenFiles:
    """A context manager; files are read only, and without a lock: nobody must wait for us."""

    def __init__(self, sources: Sequence[SourceFile]) -> None:
        self._sources = sources
        self._open: OrderedDict[int, Any] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()

    def __getitem__(self, number: int) -> Any:
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        while len(self._open) >= OPEN_MAX:
            self._open.popitem(last=False)[1].close()
        source = self._sources[number]
        source.check_unchanged()
        self._open[number] = storage.open_finished(source.path)
        return self._open[number]

    def blocks(
        self, number: int, name: str, first: int, rows: int
    ) -> Iterator[tuple[Selection, Rows]]:
        """Rows of a dataset; Damaged if they cannot be read."""
        path = self._sources[number].path
        file = self[number]
        try:
            yield from blocks(opened(file, name), first, rows)
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            raise Damaged(f"{path}: {name} cannot be read: {error}", do=rescue_it(path)) from error
