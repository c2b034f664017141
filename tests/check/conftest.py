"""`holdfast check` as users run it: a process of its own, in a directory of its own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 60.0
LAUNCHERS = ("SLURM_JOB_ID", "RAY_ADDRESS", "KUBERNETES_SERVICE_HOST")


@dataclass(frozen=True)
class Checked:
    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    @property
    def causes(self) -> set[str]:
        """Without notes: a test host may well have a clock that nobody keeps."""
        found = self.report["findings"]
        return {shown["cause"] for shown in found if shown["severity"] != "info"}

    def state(self, category: str) -> str:
        rows = {row["category"]: row["state"] for row in self.report["check"]}
        return str(rows[category])


class Check:
    """Calls the real command."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(
        self,
        *words: str | bytes,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = b"",
        width: int = 100,
    ) -> Checked:
        clean = {
            name: value
            for name, value in os.environ.items()
            if name not in {"TF_CONFIG", "FORCE_COLOR", *LAUNCHERS}
            and not name.lower().endswith("_proxy")
        }
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "check", *words],
            cwd=self.place,
            env={**clean, "COLUMNS": str(width), **(env or {})},
            input=stdin,
            capture_output=True,
            timeout=WAIT_S,
            check=False,
        )
        return Checked(done.returncode, done.stdout.decode(), done.stderr.decode())

    def json(self, *words: str | bytes, env: Mapping[str, str] | None = None) -> Checked:
        return self("--format", "json", *words, env=env)

    def write(self, name: str, content: object) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.place / name).write_text(text)
        return name

    def files(self) -> set[str]:
        return {str(path.relative_to(self.place)) for path in self.place.rglob("*")}


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return Check(tmp_path)


@pytest.fixture
def free_ports() -> list[int]:
    """Below the kernel's own range, and held by nobody at this moment."""
    ports: list[int] = []
    for port in range(21_000 + os.getpid() % 1_000, 31_000):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) != 0:
                ports.append(port)
        if len(ports) == 4:
            break
    return ports


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody who holds a port, and speaks no gRPC."""
    for port in range(24_000 + os.getpid() % 1_000, 31_000):
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", port))
        except OSError:
            holder.close()
            continue
        holder.listen(8)
        break
    with holder:
        yield holder
