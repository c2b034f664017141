"""The locked way: one file that is whole at every moment, and holds every row once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holdfast import rows
from holdfast.rows import lease, locked
from holdfast.rows.errors import Damaged, Held, Refused
from holdfast.rows.lock_test import LockTest

WRITER = """
import sys, numpy as np
from holdfast import rows
path, me = sys.argv[1], int(sys.argv[2])
with rows.open(path, task=f"worker:{me}", way="locked") as writer:
    step = 0
    while True:
        writer.append("loss", np.full((4, 3), me * 1_000_000 + step, "i8"))
        print(step, flush=True)
        step += 1
        if not step % 7:
            writer.flush()
"""


def open_locked(path: Path, task: str, **more: Any) -> locked.LockedWriter:
    writer = rows.open(path, task=task, way="locked", **more)
    assert isinstance(writer, locked.LockedWriter)
    return writer


def test_all_writers_rows_are_in_the_one_file(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    with open_locked(path, "worker:0") as one, open_locked(path, "worker:1") as two:
        one.append("metrics/loss", np.arange(6.0).reshape(3, 2))
        two.append_many({"metrics/loss": np.ones((1, 2)), "text": ["héllo"]})
        one.flush()
        with h5py.File(path, "r") as file:
            assert file["metrics/loss"].shape == (4, 2)
            assert file["text"].asstr()[0] == "héllo"
        two.append("metrics/loss", np.zeros((2, 2)))
    with h5py.File(path, "r") as file:
        assert file["metrics/loss"].shape == (6, 2)
        assert json.loads(file["_holdfast/contained"][()]) == {
            "worker-0.0001": {"metrics/loss": 3},
            "worker-1.0001": {"metrics/loss": 3, "text": 1},
        }
    with open_locked(path, "worker:0") as again:
        again.append("metrics/loss", np.zeros((1, 2)))
    with h5py.File(path, "r") as file:
        assert file["metrics/loss"].shape == (7, 2)
    assert not list(tmp_path.glob("*.tmp"))
    assert not list((tmp_path / ".all.h5.rows").rglob("*.log")), "what is contained is tidied up"


def test_rows_are_brought_in_after_so_many_bytes(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    writer = open_locked(path, "worker:0", bring_bytes=1000)
    for _ in range(3):
        writer.append("rows", np.zeros(100))
    with h5py.File(path, "r") as file:
        assert file["rows"].shape == (200,)
    writer.close()


def test_a_file_of_somebody_else_is_continued_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("grows", data=np.zeros(2), maxshape=(None,))
        file["fixed"] = np.zeros(2)
    with open_locked(path, "worker:0") as writer:
        writer.append("grows", np.ones(1))
    writer = open_locked(path, "worker:1")
    writer.append("fixed", np.ones(1))
    with pytest.raises(Refused, match='dataset "fixed"'):
        writer.flush()
    with pytest.raises(Refused):
        writer.close()
    with h5py.File(path, "r") as file:
        assert file["grows"][:].tolist() == [0, 0, 1]
        assert file["fixed"].shape == (2,)
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(Damaged):
        open_locked(tmp_path / "text.h5", "worker:0")


def test_it_is_refused_with_the_reason_where_locks_do_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = f"{tmp_path} is on nfs: flock was granted to two processes at once"
    found = LockTest(False, why, "nfs", "granted", "works", True)  # noqa: FBT003
    # Such a mount cannot be made here without root.
    monkeypatch.setattr(locked, "locks_work", lambda folder: found)
    with pytest.raises(Refused, match="granted to two processes at once"):
        open_locked(tmp_path / "all.h5", "worker:0")
    assert list(tmp_path.iterdir()) == []


def test_one_who_lost_the_lease_does_not_replace_the_file(tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    with open_locked(path, "worker:0") as writer:
        writer.append("rows", np.zeros(1))
        writer.flush()
        before = path.read_bytes()
        mine = lease.take(path, task="worker:0", token_min=locked._token(path))
        bringing = locked._Bringing(path, mine)
        record = json.loads(Path(mine.side_file).read_bytes())
        Path(mine.side_file).write_text(json.dumps({**record, "token": record["token"] + 1}))
        writer.append("rows", np.zeros(1))
        with pytest.raises(Held):
            bringing.go()
        assert path.read_bytes() == before
        Path(mine.side_file).write_text(json.dumps({**record, "until_s": 0}))
    with h5py.File(path, "r") as file:
        assert file["rows"].shape == (2,)


def test_whoever_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Three writers, each killed at a random moment, several times over."""
    path = tmp_path / "all.h5"
    random_s = random.Random(5)
    acknowledged: dict[str, int] = {}
    for attempt in range(1, 4):
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), str(me)],
                stdout=subprocess.PIPE,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
            for me in range(3)
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(random_s.uniform(0.05, 0.3))  # the moment of the kill is what varies
        for me, process in enumerate(processes):
            process.send_signal(signal.SIGKILL)
            said = process.communicate()[0].split()
            acknowledged[f"worker-{me}.{attempt:04d}"] = 1 + len(said)
    locked.bring_in(path, task="worker:9")
    with h5py.File(path, "r") as file:
        contained = json.loads(file["_holdfast/contained"][()])
        found = file["loss"][:, 0]
    assert sum(one["loss"] for one in contained.values()) == len(found)
    for source, steps in acknowledged.items():
        # One more may be in the log than the dying process could tell us.
        assert contained[source]["loss"] - 4 * steps in (0, 4), source
    for me in range(3):
        mine = found[found // 1_000_000 == me] % 1_000_000
        counts = [contained[f"worker-{me}.{attempt:04d}"]["loss"] // 4 for attempt in range(1, 4)]
        wanted = np.concatenate([np.repeat(np.arange(count), 4) for count in counts])
        assert sorted(mine) == sorted(wanted)
