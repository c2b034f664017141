"""Lines that the live view leaves out: counted, and told of once it is quiet."""

from collections import Counter
from typing import Final

from holdfast.model.line_choice import LEVEL, NOISE, TENSORFLOW, LineChoice
from holdfast.model.noise import noise_in
from holdfast.views.sanitise import cells

QUIET_S: Final = 2.0  # without another such line: what a start has to say is over
LATE_S: Final = 10.0  # told at the latest, however many more come
AGAIN_S: Final = 30.0  # until they are told of once more; then twice as long each time
KINDS_MAX: Final = 3
SEPARATOR: Final = "; "


class FoldedLines:
    """All that one view has left out and not yet told of. Memory stays small: it only counts."""

    def __init__(self, choice: LineChoice) -> None:
        self._choice = choice
        self._counts: Counter[str] = Counter()  # by why
        self._kinds: Counter[str] = Counter()  # of noise
        self._tasks: Counter[str] = Counter()
        self._logs: Counter[str] = Counter()
        self._first_s = self._last_s = 0.0
        self._due_s = 0.0
        self._pause_s = AGAIN_S

    def add(self, why: str, text: str, *, task: str, log: str, at_s: float) -> None:
        """One line that is not shown, and where it stands."""
        if not self._counts:
            self._first_s = at_s
        self._last_s = at_s
        self._counts[why] += 1
        self._tasks[task] += 1
        self._logs[log] += 1
        if why == NOISE:
            self._kinds.update(noise_in([text]))

    def told(self, at_s: float, *, width: int) -> str:
        """One line about it, when it is time for that; else empty."""
        quiet = at_s - self._last_s >= QUIET_S or at_s - self._first_s >= LATE_S
        if not self._counts or not quiet or at_s < self._due_s:
            return ""
        self._due_s, self._pause_s = at_s + self._pause_s, self._pause_s * 2
        return self.rest(width=width)

    def rest(self, *, width: int) -> str:
        """What was not told yet: the view is at its end."""
        if not self._counts:
            return ""
        head = f"… {self._number()} {self._whose()} folded"
        if cells(head) > width:
            head = f"… {self._counts.total():,} lines {self._whose()} folded"
        places = (f"{SEPARATOR}in {place}" for place in self._places())
        where = next((one for one in places if cells(head + one) <= width), "")
        kinds = ""
        for kind, _ in self._kinds.most_common(KINDS_MAX):
            more = f"{kinds}, {kind}" if kinds else f": {kind}"
            if cells(head + more + where) <= width:
                kinds = more
        self._counts, self._kinds = Counter(), Counter()
        self._tasks, self._logs = Counter(), Counter()
        return f"{head}{kinds}{where}"

    def _number(self) -> str:
        """`7 lines of known noise and 40 below warning`."""
        words = {
            NOISE: "of known noise",
            TENSORFLOW: "of TensorFlow",
            LEVEL: f"below {self._choice.show}",
        }
        (first, count), *others = self._counts.most_common()
        lines = "line" if count == 1 else "lines"
        told = [f"{count:,} {lines} {words[first]}"]
        return " and ".join((*told, *(f"{number:,} {words[why]}" for why, number in others)))

    def _whose(self) -> str:
        one = next(iter(self._tasks))
        return f"from {one}" if len(self._tasks) == 1 else f"from {len(self._tasks)} tasks"

    def _places(self) -> tuple[str, str]:
        """The file with the most of them, and that there are others; then what needs less room."""
        first = self._logs.most_common(1)[0][0]
        more = len(self._logs) - 1
        return (f"{first} and {more} more" if more else first, "logs/")
