"""One thing that a program may do, and what the judge must know of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Do = Callable[[Path, float], None]  # the job's folder, seconds (of a pause)


@dataclass(frozen=True, kw_only=True)
class Way:
    do: Do
    # Provably, as when nobody is left who could wake it: it may be called an error at once.
    cannot_end: bool = False
    needs: frozenset[str] = frozenset()  # numpy, small-disk, others (tasks), loop (main thread)
    by_thread: bool = False  # any thread can do it to its whole process
    phases: tuple[str, ...] = ()  # none: all
    for_steps: int = 1  # it is done again in so many steps, each time a part of it


class Grammar(dict[str, Way]):
    """Ways by their names, which are those of their functions."""

    def way(
        self,
        *,
        cannot_end: bool = False,
        needs: str = "",
        by_thread: bool = False,
        phases: str = "",
        for_steps: int = 1,
    ) -> Callable[[Do], Do]:
        def add(do: Do) -> Do:
            name = do.__name__.replace("_", "-")
            self[name] = Way(
                do=do,
                cannot_end=cannot_end,
                needs=frozenset(needs.split()),
                by_thread=by_thread,
                phases=tuple(phases.split()),
                for_steps=for_steps,
            )
            return do

        return add
