"""The times of one file: some lines may tell them in UTC, others as a local clock has them."""

from dataclasses import dataclass, field

from holdfast.model.log_times import is_dated

ZONE_STEP_S = 1_800.0  # time zones differ by half hours
ZONE_STEPS_MAX = 28
LINES_APART_S = 120.0  # by which two lines, one below the other, may differ
_Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a line was written, as it says itself."""

    unix_s: float
    is_local: bool = False  # in which zone, nobody says


@dataclass(slots=True)
class LogClock:
    """Told every moment in the order of the lines; knows how far the local clock is away."""

    away_s: float = 0.0  # what brings a local time to UTC
    _newest: dict[bool, float] = field(default_factory=dict)
    _spans: dict[tuple[bool, bool], _Span] = field(default_factory=dict)

    def note(self, moment: Moment) -> None:
        at, dated = moment.unix_s, is_dated(moment.unix_s)
        first, last = self._spans.get((dated, moment.is_local), (at, at))
        self._spans[dated, moment.is_local] = min(first, at), max(last, at)
        if not dated:
            return
        self._newest[moment.is_local] = at
        if len(self._newest) == len((True, False)) and not self.away_s:
            self.away_s = zone_s(self._newest[False] - self._newest[True], slack_s=LINES_APART_S)

    def corrected_s(self, moment: Moment) -> float:
        away = moment.is_local and is_dated(moment.unix_s)
        return moment.unix_s + (self.away_s if away else 0.0)

    def span(self) -> _Span | None:
        """The earliest and the latest; where there are dates, only those count."""
        dated = [is_dated for is_dated, _ in self._spans]
        ends = [
            self.corrected_s(Moment(end, is_local))
            for (has_date, is_local), span in self._spans.items()
            if has_date == any(dated)
            for end in span
        ]
        return (min(ends), max(ends)) if ends else None


def zone_s(apart_s: float, *, slack_s: float) -> float:
    """The whole half hours by which two clocks differ; 0: none, or it is something else."""
    steps = round(apart_s / ZONE_STEP_S)
    whole_s = steps * ZONE_STEP_S
    is_zone = 0 < abs(steps) <= ZONE_STEPS_MAX and abs(apart_s - whole_s) <= slack_s
    return whole_s if is_zone else 0.0
