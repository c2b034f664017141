"""Archives of logs in every kind that is read, and what is found in them."""

import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import zstandard

from holdfast.logs import read
from holdfast.logs.read import Reading
from holdfast.model.facts import LogLine

CALM = b"2026-11-15 10:00:%02d.000000: I tensorflow/core/common_runtime/executor.cc:1197] step %d\n"
TELLING = b"OSError: [Errno 24] Too many open files: '/data/shard-7'\n"
Files = Mapping[str, bytes]


def log_text(*, lines: int = 100) -> bytes:
    calm = [CALM % (number % 60, number) for number in range(lines)]
    return b"".join([*calm[: lines // 2], TELLING, *calm[lines // 2 :]])


def zip_of(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return made.getvalue()


def tar_of(files: Files, mode: str = "w:") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as target:  # type: ignore[call-overload]
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            target.addfile(about, io.BytesIO(content))
    return made.getvalue()


KINDS: dict[str, Callable[[Files], bytes]] = {
    "zip": zip_of,
    "stored.zip": lambda files: zip_of(files, zipfile.ZIP_STORED),
    "tar": tar_of,
    "tar.gz": lambda files: tar_of(files, "w:gz"),
    "tgz": lambda files: tar_of(files, "w:gz"),
    "tar.bz2": lambda files: tar_of(files, "w:bz2"),
    "tar.xz": lambda files: tar_of(files, "w:xz"),
    "tar.zst": lambda files: zstandard.ZstdCompressor().compress(tar_of(files)),
}
FEW = ("zip", "tar", "tar.gz")


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def found_in(*paths: Path | str) -> Reading:
    return read.read([str(path) for path in paths], jobs=1)


def told(reading: Reading) -> list[str]:
    lines = (fact for fact in reading.facts if isinstance(fact, LogLine))
    return [f"{line.source}:{line.line}" for line in lines if "Too many open" in line.text]
