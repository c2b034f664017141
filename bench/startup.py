"""Judges Holdfast on faulty start-ups of real clusters: `python -m bench.startup`.

Every fault in bench/faults, in every workload it names, by every way to look at it: before the
start (check), while it starts (run), and from outside (attach). `--by tensorflow` looks at what
TensorFlow itself makes of the fault, without Holdfast.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.cluster import WORKLOADS, Cluster
from bench.fault import Effect, Fault
from bench.scenario import WAYS

from holdfast import open_folder

FAULTS: dict[str, Fault] = open_folder.load("bench.faults", "fault")
TENSORFLOW = "tensorflow"
BLOCKED_S = 35.0  # who has not begun by then, on an idle machine, never will
TRAINED_S = {"late": 120.0, "restarted": 90.0}
TRAINED_S_MAX = 75.0


@dataclass(frozen=True, slots=True)
class Scenario:
    fault: str
    workload: str
    way: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    scenario: Scenario
    expected: str
    got: str
    seconds: float | None
    complaint: str = ""  # empty: it is right


def main() -> int:
    asked = _asked()
    chosen = list(scenarios(asked.only, asked.workload, asked.by))
    folder = Path(tempfile.mkdtemp(prefix="holdfast-startup-"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, files in {folder}", flush=True)
    print(line("fault", "workload", "by", "expected", "got", "s", ""))
    rows = [show(judge(one, folder)) for one in chosen]
    wrong = [row for row in rows if row.complaint]
    print(f"{len(rows) - len(wrong)} of {len(rows)} right")
    if not wrong and not asked.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


def scenarios(
    only: str | None = None, workload: str | None = None, by: str | None = None
) -> Iterator[Scenario]:
    """What there is to judge; `only` and the others narrow it down."""
    for name, fault in FAULTS.items():
        if only and name not in only.split(","):
            continue
        for one in fault.effect:
            for way in (*WAYS, TENSORFLOW):
                judged = way == TENSORFLOW or fault.told(way, one) is not None
                if judged and workload in {None, one} and by in {None, way}:
                    yield Scenario(name, one, way)


def judge(scenario: Scenario, folder: Path) -> Row:
    place = folder / f"{scenario.fault}-{scenario.workload}-{scenario.way}"
    place.mkdir(parents=True)
    if scenario.way == TENSORFLOW:
        return _judge_tensorflow(scenario, place)
    told = FAULTS[scenario.fault].told(scenario.way, scenario.workload)
    assert told is not None
    try:
        answer = WAYS[scenario.way](scenario.fault, scenario.workload, place)
    except Exception as error:  # noqa: BLE001 - one broken scenario must not hide the others
        return Row(scenario, str(told), repr(error), None, "broke")
    (place / "answer.txt").write_text(answer.text)
    effect = FAULTS[scenario.fault].effect[scenario.workload]
    complaint = answer.complaint(told, effect, scenario.way)
    return Row(scenario, str(told), str(answer), answer.first_word_s, complaint)


def _judge_tensorflow(scenario: Scenario, place: Path) -> Row:
    expected = FAULTS[scenario.fault].effect[scenario.workload]
    longest_s = TRAINED_S.get(scenario.fault, TRAINED_S_MAX)
    within_s = BLOCKED_S if expected is Effect.BLOCKS else longest_s
    began_s = time.monotonic()
    options = ("--steps", str(FAULTS[scenario.fault].steps))
    with Cluster(scenario.workload, place, fault=scenario.fault, options=options) as cluster:
        got = cluster.settled_effect(within_s)
    complaint = "" if got is expected else "wrong effect"
    return Row(scenario, expected, got, time.monotonic() - began_s, complaint)


def show(row: Row) -> Row:
    seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
    scenario = row.scenario
    words = (scenario.fault, scenario.workload, scenario.way, row.expected, row.got, seconds)
    print(line(*words, f"WRONG: {row.complaint}" if row.complaint else ""), flush=True)
    return row


def line(*words: str) -> str:
    widths = (29, 19, 11, 48, 40, 6, 5)
    cells = [word.ljust(width) for word, width in zip(words, widths, strict=True)]
    return " ".join(cells).rstrip()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME[,NAME]", help="faults: the files' names, dashed")
    parser.add_argument("--workload", choices=sorted(WORKLOADS))
    parser.add_argument("--by", choices=[*WAYS, TENSORFLOW])
    parser.add_argument("--keep", action="store_true", help="keep the files of what was right, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
