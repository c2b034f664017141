"""Strikes worker, sealer, central writer, merges at single calls: `python -m bench.rows.crash`.

Kills before and within each call that changes the folder, full and broken disks at each call, and
power cuts after each call, until there are so many points of each; after each, everything is
started again, and every acknowledged row must be there once, in order, by plain h5py. A point at
which one is not is a missed bar, and exit 1.
"""

import argparse
import errno
import itertools
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.rows.points import Point, Range, Target
from bench.rows.running import terminable
from bench.rows.shim import How, NoCompilerError
from bench.rows.targets import TARGETS
from bench.rows.warm import Warm, scratch

SHOWN_MAX = 10
SEEDS_MAX = 200
KILLS = (How.KILL_BEFORE, How.KILL_WITHIN)
FAILURES = [(error, times) for error in (errno.ENOSPC, errno.EIO) for times in (1, 5, 1 << 40)]
ACTS = ("kill", "fail", "cut")


@dataclass(frozen=True)
class Aim:
    """How something is struck, how often, from which seed on, and where."""

    act: str
    points: int
    seed: int
    folder: Path


def main() -> int:
    terminable()
    asked = _asked()
    missed = 0
    try:
        with Warm() as warm, scratch() as folder:
            for name, act in itertools.product(asked.targets, asked.acts):
                aim = Aim(act, asked.points, asked.seed, Path(folder))
                missed += judge(warm, name, aim)
    except NoCompilerError as error:
        print(f"FAIL  {error}")
        return 1
    print(f"{missed} bars missed")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rows.crash", description=__doc__)
    parser.add_argument("--points", type=int, default=1000, help="of each target and kind")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--acts", nargs="+", choices=ACTS, default=ACTS)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def judge(warm: Warm, name: str, aim: Aim) -> int:
    """How many bars it missed: one, if any acknowledged row is not there once."""
    targets = [one for one in TARGETS[name] if aim.act != "cut" or one.power_safe]
    done = acknowledged = 0
    wrong: list[Point] = []
    for point in struck(warm, targets, aim):
        done += 1
        acknowledged += point.acknowledged
        if point.wrong:
            wrong.append(point)
            if len(wrong) <= SHOWN_MAX:
                print(f"      {point}", flush=True)
    word = "FAIL" if wrong or not done else "PASS"
    print(
        f"{word}  {name}, {aim.act}: {done} points, {acknowledged} acknowledged batches,"
        f" {len(wrong)} points at which something was wrong",
        flush=True,
    )
    return 1 if wrong or not done else 0


def struck(warm: Warm, targets: list[Target], aim: Aim) -> Iterator[Point]:
    """So many points: every call of a first seed, then of more seeds; at random if too many."""
    left = aim.points
    for at, target in enumerate(targets):
        share = left // (len(targets) - at)
        left -= share
        for each in range(aim.seed, aim.seed + SEEDS_MAX):
            if not share:
                break
            for point in _of_seed(warm, target, replace(aim, points=share, seed=each)):
                share -= 1
                yield point


def _of_seed(warm: Warm, target: Target, aim: Aim) -> Iterator[Point]:
    chance = random.Random(f"{target.name}/{aim.act}/{aim.seed}")
    with Range(warm, target, aim.seed, aim.folder) as aimed:
        if aim.act == "cut":
            yield from aimed.cut_off(aim.points, chance)
            return
        calls = range(1, len(aimed.calls()) + 1)
        if aim.act == "kill":
            strikes = [partial(aimed.killed, at, how) for at in calls for how in KILLS]
        else:
            strikes = [partial(aimed.failed, at, *failure) for at in calls for failure in FAILURES]
        for strike in strikes if len(strikes) <= aim.points else chance.sample(strikes, aim.points):
            yield strike()


if __name__ == "__main__":
    sys.exit(main())
