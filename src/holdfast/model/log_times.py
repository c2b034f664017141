"""Times as programs write them into logs, in seconds since 1970: UTC where no zone is said."""

from collections.abc import Mapping
from datetime import UTC, datetime

# A day without a year is put into this one: long before any log, and with a 29th of February.
UNDATED_YEAR = 1972
YEAR_MAX = 2_200
_DATED_FROM_S = datetime(UNDATED_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()
_CENTURY = 2000
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

CLOCK = r"(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
DATE = r"(?P<date>\d{4}[-/]\d\d[-/]\d\d)"
ZONE = r"(?P<zone> ?(?:Z|UTC|[+-]\d\d:?\d\d))"
MONTH_DAY = r"(?P<day>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2})"
WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"


def seconds_in(found: Mapping[str, str | None]) -> float | None:
    """The time that a pattern's groups hold; None where they hold none, or one that never was."""
    if unix := found.get("unix"):
        return float(unix)
    clock = found.get("clock")
    if not clock:
        return None
    hour, minute, second = clock.replace(",", ".").split(":")
    try:
        day = _day(found)
        begun = datetime(*day, int(hour), int(minute), tzinfo=UTC).timestamp()
    except ValueError:  # the 31st of February, 25 o'clock
        return None
    if (not is_dated(begun) and day[0] != UNDATED_YEAR) or day[0] > YEAR_MAX:
        return None
    return begun + float(second) - _zone_s(found.get("zone") or "")


def is_dated(at_unix_s: float) -> bool:
    """Whether a time has a year."""
    return at_unix_s >= _DATED_FROM_S


def with_year(at_unix_s: float, near_unix_s: float) -> float:
    """A day without a year, in that year which brings it nearest to another time."""
    year = datetime.fromtimestamp(near_unix_s, tz=UTC).year
    at = datetime.fromtimestamp(at_unix_s, tz=UTC)
    # The 29th of February falls on the 1st of March where there is none.
    since_s = (at - datetime(UNDATED_YEAR, at.month, 1, tzinfo=UTC)).total_seconds()
    starts = (datetime(y, at.month, 1, tzinfo=UTC).timestamp() for y in (year - 1, year, year + 1))
    return min((start + since_s for start in starts), key=lambda one: abs(one - near_unix_s))


def _day(found: Mapping[str, str | None]) -> tuple[int, int, int]:
    if date := found.get("date"):
        year, *rest = date.replace("/", "-").split("-")
        short = len(year) == len("26")
        return int(year) + (_CENTURY if short else 0), int(rest[0]), int(rest[1])
    if monthday := found.get("monthday"):
        return UNDATED_YEAR, int(monthday[:2]), int(monthday[2:])
    name, _, number = (found.get("day") or "").partition(" ")
    month = _MONTHS.index(name.lower()) + 1
    return int(found.get("year") or UNDATED_YEAR), month, int(number)


def _zone_s(zone: str) -> float:
    bare = zone.strip().replace(":", "")
    if bare in {"", "Z", "UTC"}:
        return 0.0
    away_s = int(bare[1:3]) * 3600.0 + int(bare[3:]) * 60.0
    return -away_s if bare[0] == "-" else away_s
