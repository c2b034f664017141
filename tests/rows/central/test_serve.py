"""`holdfast rows serve`: a central writer that anybody can start."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import rows
from holdfast.rows import lease
from holdfast.rows.central_state import published

SERVE = [sys.executable, "-m", "holdfast", "rows", "serve"]


def test_serve_takes_over_until_it_is_asked_to_end(
    tmp_path: Path, arrived: Callable[..., Any]
) -> None:
    logdir, address = tmp_path / "logdir", f"unix://{tmp_path}/socket"
    listen = ["--listen", address, "--listen", "tcp://127.0.0.1:0"]
    with subprocess.Popen([*SERVE, logdir, *listen], stdout=subprocess.PIPE, text=True) as serve:
        assert serve.stdout is not None
        token_place = serve.stdout.readline().strip().rpartition(" ")[2]
        assert "listens on unix://" in serve.stdout.readline()
        assert Path(token_place).stat().st_mode & 0o777 == 0o600
        second = subprocess.run([*SERVE, logdir], capture_output=True, text=True, check=False)
        assert second.returncode != 0
        assert f"pid {serve_child(logdir)}" in second.stderr
        token = Path(token_place).read_text().strip()
        with rows.open(address, task="worker:0", token=token) as far:
            far.append("x", np.arange(10))
        with rows.open(logdir, task="worker:1", way="central") as near:
            near.append("x", np.arange(5))
        serve.send_signal(signal.SIGTERM)
        assert serve.wait() == 0
    found = arrived(logdir)
    assert found["worker-0.0001"]["x"].tolist() == list(range(10))
    assert found["worker-1.0001"]["x"].tolist() == list(range(5))
    assert not (tmp_path / "socket").exists()


def test_serve_once_takes_over_what_is_there(tmp_path: Path) -> None:
    with rows.open(tmp_path, task="worker:0", way="central") as writer:
        writer.append("x", np.arange(7))
    subprocess.run([*SERVE, tmp_path, "--once"], check=True)
    assert published(tmp_path).rows == {"x": 7}


def serve_child(logdir: Path) -> int:
    owner = lease.owner_of(logdir / "rows" / "central" / "compactor")
    assert owner is not None
    return owner.pid
