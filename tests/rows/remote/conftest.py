"""A real S3 server on loopback, as a process of its own."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec
import pytest

STARTS_S_MAX = 60.0


@dataclass(frozen=True)
class Bucket:
    """A bucket of its own for one test."""

    endpoint: str
    name: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"s3://{self.name}/run"

    @property
    def root(self) -> str:
        """The same place, as the store's own package names it."""
        return f"{self.name}/run"

    @property
    def files(self) -> Any:
        """As any other program sees it."""
        files = fsspec.filesystem("s3", **self.options)
        files.invalidate_cache()
        return files

    def reads(self, url: str) -> Any:
        """A file that h5py can read from."""
        return self.files.open(url)

    def forbid(self) -> None:
        self._tell("reset-auth", "0")

    def allow(self) -> None:
        self._tell("reset-auth", "inf")

    def _tell(self, word: str, content: str) -> None:
        """To the server itself, beside S3."""
        ask = urllib.request.Request(
            f"{self.endpoint}/moto-api/{word}",
            content.encode(),
            headers={"Content-Type": "text/plain"},
        )
        urllib.request.urlopen(ask, timeout=10).close()


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    output = tmp_path_factory.mktemp("s3") / "server.txt"
    with output.open("wb") as file, start_server(port, file) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}", server, output)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


@pytest.fixture
def bucket(endpoint: str) -> Iterator[Bucket]:
    options = {
        "key": "test",
        "secret": "test",
        "client_kwargs": {"endpoint_url": endpoint},
    }
    made = Bucket(endpoint, f"b-{uuid.uuid4().hex[:12]}", options)
    made.files.mkdir(made.name)
    yield made
    made.allow()  # whatever a test forbade


def start_server(port: int, output: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    return subprocess.Popen(command, stdout=output, stderr=output, cwd=Path(output.name).parent)


def wait_for(address: str, server: subprocess.Popen[bytes], output: Path) -> None:
    until = time.monotonic() + STARTS_S_MAX
    while True:
        try:
            urllib.request.urlopen(f"{address}/moto-api/", timeout=5).close()
        except (OSError, urllib.error.URLError):
            assert server.poll() is None, output.read_text()
            assert time.monotonic() < until, output.read_text()
            time.sleep(0.1)
        else:
            return
