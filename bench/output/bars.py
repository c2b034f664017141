"""The bars that Holdfast has set itself, each with what was measured beside it."""

from statistics import median

from bench.output.deaths import Delays
from bench.output.table import Results, corrected, ratios
from bench.output.terminal import Stop
from bench.output.ways import LIVE, QUIET

SPEED_BAR = 0.95
MEMORY_BAR_BYTES = 80_000_000
DEATH_BAR_S = 0.020
LOST = "output was not kept as written"


def bar(*, held: bool, text: str) -> str:
    return f"{'PASS' if held else 'FAIL'}  {text}"


def loss_bars(results: Results) -> list[str]:
    """Nothing when all is well: the table says so."""
    faults = [one.fault for way in (QUIET, LIVE) for one in results[way.name] if one.fault]
    return [bar(held=False, text=f"{LOST}: {fault}") for fault in faults]


def speed_bars(results: Results) -> list[str]:
    found = []
    for way in (QUIET, LIVE):
        rounds = ratios(results, way.name)
        if not rounds:
            found.append(bar(held=False, text=f"4 children, {way.name}: not measured"))
            continue
        each = ", ".join(f"{one:.2f}" for one in rounds)
        text = (
            f"4 children, {way.name}: {median(rounds):.3f} of the limit (bar: {SPEED_BAR};"
            f" rounds: {each}; corrected for strangers: {median(corrected(results, way.name)):.3f})"
        )
        found.append(bar(held=median(rounds) >= SPEED_BAR, text=text))
    return found


def memory_bars(results: Results) -> list[str]:
    peaks: dict[str, int] = {}
    for way in (QUIET, LIVE):
        for outcome in results[way.name]:
            for used in outcome.processes:
                peaks[used.name] = max(peaks.get(used.name, 0), used.peak_bytes)
    each = ", ".join(f"{name} {peak / 1e6:.0f}" for name, peak in sorted(peaks.items()))
    whole = sum(peaks.values())
    text = f"peak memory of all our processes: {whole / 1e6:.0f} MB (bar: 80; {each})"
    return [bar(held=0 < whole <= MEMORY_BAR_BYTES, text=text)]


def stop_bars(stops: list[Stop]) -> list[str]:
    ratio = median(stop.stopped.mb_a_s / stop.flowing_mb_s for stop in stops)
    speeds = ", ".join(f"{one.stopped.mb_a_s:.0f} against {one.flowing_mb_s:.0f}" for one in stops)
    pause_s = max(stop.stopped.longest_pause_s for stop in stops)
    text = (
        f"stopped terminal: {ratio:.2f} of the speed while it flows (bar: {SPEED_BAR};"
        f" {speeds} MB/s; longest pause of the child's file {pause_s * 1000:.0f} ms; shown while"
        f" stopped {max(stop.stopped.shown_bytes for stop in stops):,} bytes, before"
        f" {min(stop.before.shown_bytes for stop in stops):,}; largest process"
        f" {max(stop.peak_bytes for stop in stops) / 1e6:.0f} MB)"
    )
    lost = [bar(held=False, text=f"{LOST}: {stop.fault}") for stop in stops if stop.fault]
    return [bar(held=ratio >= SPEED_BAR, text=text), *lost]


def death_bars(delays: Delays) -> list[str]:
    lines = [
        _death_bar("made", delays.stamped),
        _death_bar("readable by another process", delays.readable),
    ]
    storms = ", ".join(f"{storm_s * 1000:.0f}" for storm_s in delays.storms)
    return [*lines, f"      all workers killed at once: the last fact readable after {storms} ms"]


def _death_bar(what: str, delays: list[float]) -> str:
    ordered = sorted(delays)
    middle, late, last = (ordered[int((len(ordered) - 1) * at)] * 1000 for at in (0.5, 0.99, 1.0))
    text = (
        f"death to fact {what}, all cores busy, {len(delays)} deaths: p50 {middle:.1f} ms,"
        f" p99 {late:.1f} ms, last {last:.1f} ms (bar: p99 {DEATH_BAR_S * 1000:.0f} ms)"
    )
    return bar(held=late <= DEATH_BAR_S * 1000, text=text)
