"""A real HDFS for all tests here, and a folder of its own in it for each."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import fsspec
import pytest
from tests.hdfs.cluster import Hdfs

USER = "writer"


@dataclass(frozen=True)
class Place:
    """What `Bucket` is for S3: a folder for one test, reached as a user of no special rights."""

    hdfs: Hdfs
    protocol: str
    name: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.protocol}://127.0.0.1:{self.port}{self.root}"

    @property
    def port(self) -> int:
        return self.hdfs.name_port if self.protocol == "hdfs" else self.hdfs.web_port

    @property
    def root(self) -> str:
        return f"/{self.name}/run"

    @property
    def files(self) -> Any:
        """As any other program sees it."""
        return fsspec.filesystem(self.protocol, host="127.0.0.1", port=self.port, **self.options)

    def reads(self, url: str) -> Any:
        """A file that h5py can read from: hdfs-native's own has no `readinto`."""
        return self.files.open(url) if self.protocol == "webhdfs" else BytesIO(self.files.cat(url))

    def forbid(self) -> None:
        self._set_rights("000")

    def allow(self) -> None:
        self._set_rights("777")

    def _set_rights(self, rights: str) -> None:
        owner = self.hdfs.as_superuser()
        owner.makedirs(f"/{self.name}", exist_ok=True)
        owner._call("SETPERMISSION", "put", path=f"/{self.name}", permission=rights)


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    made = Hdfs(tmp_path_factory.mktemp("hdfs"))
    try:
        made.begin()
        yield made
    finally:
        made.end()


@pytest.fixture(params=["hdfs", "webhdfs"])
def bucket(request: pytest.FixtureRequest, hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HADOOP_USER_NAME", USER)
    options = {"user": USER} if request.param == "webhdfs" else {}
    made = Place(hdfs, request.param, f"b-{uuid.uuid4().hex[:12]}", options)
    made.allow()
    return made
