"""Eight processes at random in each way, with kills: `python -m bench.rows.stress`; exit 1 if bad.

Workers append batches that tell where they come from, and note what was acknowledged. At random
moments one of them is killed and started again, or the compactor is, or everything is merged
while they write. In the end every acknowledged batch must be there once, whole and in order.
Last, a careless program damages its file, and is stopped by the guard.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.rows.careless import judge_careless
from bench.rows.recovering import centred
from bench.rows.running import ROOT, end_all, ended, own, terminable
from bench.rows.told import WRITERS_MAX, Verdict, judge, read_file

WORKERS = 8
WAYS = ("shards", "central", "locked")
ACT_S_MAX = 2.0
END_S_MAX = 300
WHY_CHARS_MAX = 300


def main() -> int:
    terminable()
    asked = _asked()
    missed = 0
    try:
        for way in asked.ways:
            with tempfile.TemporaryDirectory(prefix="holdfast-stress-", dir=asked.dir) as folder:
                try:
                    missed += judge_way(way, 60 * asked.minutes, asked.seed, Path(folder))
                finally:
                    end_all()
        if not asked.no_careless:
            missed += judge_careless(asked.dir)
    finally:
        end_all()
    print(f"{missed} bars missed, load is now {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rows.stress", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="of each way")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--no-careless", action="store_true")
    return parser.parse_args()


@dataclass
class Stress:
    """One way under stress: its processes, and what became of them."""

    way: str
    folder: Path
    chance: random.Random
    started: int = 0
    kills: int = 0
    merges: int = 0
    workers: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    compactor: "subprocess.Popen[bytes] | None" = None
    wrong: list[str] = field(default_factory=list)

    @property
    def place(self) -> Path:
        return self.folder / ("all.h5" if self.way == "locked" else "job")

    def keep_going(self) -> None:
        """Starts what is not running; whoever ended by itself must have ended well."""
        for slot in range(WORKERS):
            worker = self.workers.get(slot)
            if worker is not None and worker.poll() is None:
                continue
            if worker is not None:
                self.heard(worker, f"worker {slot}")
            if self.started < WRITERS_MAX - 1:
                self.started += 1
                acks = self.folder / f"acks/{self.started}"
                asked = [self.way, self.place, f"worker:{slot}", self.started, acks]
                self.workers[slot] = self.run("worker", *asked)
        if self.way == "central" and (self.compactor is None or self.compactor.poll() is not None):
            if self.compactor is not None:
                self.heard(self.compactor, "compactor")
            self.compactor = self.run("compactor", self.place)

    def act(self) -> None:
        """One kill, or one merge beside those who write."""
        chance = self.chance.random()
        if self.way == "central" and self.compactor is not None and chance < 0.3:
            self.compactor.kill()
            self.kills += 1
        elif self.way == "shards" and chance < 0.2:
            self.merge_meanwhile()
        else:
            self.workers[self.chance.randrange(WORKERS)].kill()
            self.kills += 1

    def merge_meanwhile(self) -> None:
        """What was acknowledged before the merge began is in it."""
        before = acknowledged(self.folder)
        merged = self.folder / "meanwhile.h5"
        self.merges += 1
        merging = self.run("merge", self.place, merged)
        merging.wait(END_S_MAX)
        self.heard(merging, "merge")
        if merged.exists():
            verdict = judge(read_file(merged), before)
            if verdict:
                self.wrong.append(f"a merge beside the writers: {verdict}")
            merged.unlink()

    def end(self) -> Verdict:
        """Everybody ends in order; then all is brought together and judged."""
        for name, process in [*((f"worker {slot}", one) for slot, one in self.workers.items())]:
            process.terminate()
            process.wait(END_S_MAX)
            self.heard(process, name)
        if self.compactor is not None:
            ended(self.compactor)
            self.compactor = self.run("drain", self.place)
            self.compactor.wait(END_S_MAX)
            self.heard(self.compactor, "compactor")
        all_acknowledged = acknowledged(self.folder)
        if self.way == "central":
            return judge(centred(self.place), all_acknowledged)
        merged = self.place
        if self.way == "shards":
            merged = self.folder / "all.h5"
            merging = self.run("merge", self.place, merged)
            merging.wait(END_S_MAX)
            self.heard(merging, "merge")
        return judge(read_file(merged), all_acknowledged)

    def run(self, program: str, *asked: object) -> "subprocess.Popen[bytes]":
        return own(
            subprocess.Popen(
                [sys.executable, "-m", "bench.rows.stressed", program, *map(str, asked)],
                stderr=subprocess.PIPE,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            )
        )

    def heard(self, process: "subprocess.Popen[bytes]", name: str) -> None:
        """A kill was ours, and an end before it could hear of it; any other bad end is wrong."""
        why = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
        if process.stderr:
            process.stderr.close()
        if process.returncode not in {0, -signal.SIGKILL, -signal.SIGTERM}:
            self.wrong.append(f"{name} ended with {process.returncode}: {why[-WHY_CHARS_MAX:]}")


def judge_way(way: str, seconds: float, seed: int, folder: Path) -> int:
    """How many bars it missed."""
    (folder / "acks").mkdir()
    stress = Stress(way, folder, random.Random(f"{way}/{seed}"))
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        stress.keep_going()
        time.sleep(ACT_S_MAX * stress.chance.random())
        stress.act()
    verdict = stress.end()
    count = sum(map(len, acknowledged(folder).values()))
    held = not verdict and not stress.wrong and count > 0
    print(
        f"{'PASS' if held else 'FAIL'}  {way}: {verdict} of {count} acknowledged batches;"
        f" {stress.started} workers, {stress.kills} kills, {stress.merges} merges meanwhile",
        flush=True,
    )
    for text in stress.wrong[:10]:
        print(f"      {text}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return 0 if held else 1


def acknowledged(folder: Path) -> dict[str, list[int]]:
    """What workers noted; a line that is cut was never finished."""
    found: dict[str, list[int]] = {}
    for path in (folder / "acks").iterdir():
        for line in path.read_bytes().split(b"\n")[:-1]:
            batch, names = json.loads(line)
            for name in names:
                found.setdefault(name, []).append(batch)
    return found


if __name__ == "__main__":
    sys.exit(main())
