"""Measures what Holdfast costs a real training: `python -m bench.overhead`; a missed bar is exit 1.

Step times come from one training whose watchers are frozen (SIGSTOP) in a tenth of a second of
every two, in an order drawn anew for each pair, so that a noisy machine touches both sides alike;
what was measured while strangers took a part of the machine is left out. What a frozen Holdfast
left undone it makes up for once it is thawed, so that an awake window holds more of its work than
one of an undisturbed run. How much more is measured in the same run, by processor time between
freezes and in stretches without any, and what the steps lose is divided by it; both are printed.
The run lasts until the interval is narrow, or the time is over.
Whole runs with Holdfast and without are compared too, and judged by nobody: they differ by more
than the bar from one run to the next. Last, processor time and memory of Holdfast's own
processes beside eight tasks that train, once all of them do; the start is told apart.
"""

import argparse
import os
import sys
from collections.abc import Callable
from statistics import fmean, median

from bench.beside import Beside, watch_beside
from bench.paired import paired_ratio
from bench.timed_runs import measure_alone, measure_frozen, measure_watched, median_ratio

RATIO_MAX = 1.005
CPU_MAX = 0.01  # of one core
PSS_BYTES_MAX = 64_000_000
STEPS_MIN = 2000


def main() -> int:
    asked = _asked()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    missed = 0
    if asked.most_s:
        missed += judge_steps(asked.most_s)
    for number in range(asked.pairs):
        show_whole_runs(number + 1, asked.pair_steps)
    if asked.tasks:
        missed += judge_beside(watch_beside(asked.tasks, asked.healthy_s))
    print(f"{missed} bars missed, load is now {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most-s", type=float, default=1200, help="of the run with freezes; 0: no")
    parser.add_argument("--pairs", type=int, default=2, help="of whole runs")
    parser.add_argument("--pair-steps", type=int, default=2000)
    parser.add_argument("--tasks", type=int, default=8, help="for memory and processor; 0: no")
    parser.add_argument("--healthy-s", type=float, default=60.0)
    return parser.parse_args()


def judge_steps(most_s: float) -> int:
    """How many bars it missed."""
    found = measure_frozen(most_s)
    pairs = found.quiet
    if sum(pair.steps for pair in pairs) < STEPS_MIN:
        print("      strangers were busy in most windows: all of them count")
        pairs = found.every
    steps = sum(pair.steps for pair in pairs)
    if steps < STEPS_MIN:
        print(f"FAIL  {steps} steps are too few: the bar asks for {STEPS_MIN}")
        return 1
    raw = median_ratio(pairs)
    ratio = raw.eased(max(1.0, found.crowding))
    held = ratio.high <= RATIO_MAX
    frozen_ms = 1000 * median(took_s for pair in pairs for took_s in pair.frozen)
    print(f"{steps} steps of {frozen_ms:.1f} ms in {len(pairs)} pairs of windows")
    print(
        f"      our processor time: {found.undisturbed_share:.2%} of a core undisturbed,"
        f" {found.awake_share:.2%} in awake windows: {found.crowding:.2f} x"
    )
    print(f"      median step, awake windows over frozen ones: {raw}")
    print(f"{_word(held=held)}  median step, watched over not: {ratio} (bar: {RATIO_MAX})")
    if not held and ratio.low <= RATIO_MAX:
        print("      the interval lies on both sides of the bar: this machine is too noisy to tell")
    means = paired_ratio([(fmean(pair.frozen), fmean(pair.awake)) for pair in pairs])
    print(f"      mean step, awake windows over frozen ones: {means}")
    return 0 if held else 1


def show_whole_runs(number: int, steps: int) -> None:
    """Every second pair begins with the other one: drift hits both alike."""
    order: list[Callable[[int], list[float]]] = [measure_alone, measure_watched]
    found = {run: median(run(steps)) for run in (order if number % 2 else reversed(order))}
    alone_ms, ours_ms = (1000 * found[run] for run in order)
    print(
        f"      whole runs {number}: median step alone {alone_ms:.2f} ms, under Holdfast"
        f" {ours_ms:.2f} ms, ratio {ours_ms / alone_ms:.3f}",
        flush=True,
    )


def judge_beside(found: Beside) -> int:
    """How many bars it missed."""
    print(
        f"      the start of {found.tasks} tasks: {found.start_cpu_s:.1f} s of processor time,"
        f" {found.start_pss_bytes / 1e6:.1f} MB of PSS at most (no bar)"
    )
    print(f"{found.tasks} tasks, {found.steps} steps in {found.took_s:.0f} s of healthy training")
    for process in found.processes:
        print(
            f"      {process.name:12}{process.cpu_s / found.took_s:8.2%} of a core"
            f"{process.pss_bytes / 1e6:8.1f} MB"
        )
    cpu, pss_bytes = found.cpu_share, found.pss_bytes
    bars = [
        (
            found.steps > 0 and cpu <= CPU_MAX,
            f"processor: {cpu:.2%} of a core (bar: {CPU_MAX:.0%})",
        ),
        (
            0 < pss_bytes <= PSS_BYTES_MAX,
            f"memory: {pss_bytes / 1e6:.1f} MB of PSS at most (bar: {PSS_BYTES_MAX / 1e6:.0f} MB)",
        ),
        (not found.findings, f"findings in a healthy run: {found.findings or 'none'}"),
    ]
    for held, text in bars:
        print(f"{_word(held=held)}  {text}", flush=True)
    return sum(not held for held, _ in bars)


def _word(*, held: bool) -> str:
    return "PASS" if held else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
