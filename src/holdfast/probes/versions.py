"""Which versions a task's interpreter would import, or a running one has loaded."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from holdfast.model.facts import ProbeBlind, VersionsSeen
from holdfast.model.pattern import Pattern
from holdfast.probes import mapped_files, said_in_time

PACKAGES_MAX = 10_000
VERSION_LENGTH_MAX = 64
WHY_LENGTH_MAX = 200
_TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "intel-tensorflow")
_NAMES = {
    **dict.fromkeys(_TENSORFLOWS, "tensorflow"),
    **{name: name for name in ("keras", "protobuf", "grpcio", "numpy", "h5py")},
}
_CUDAS = tuple(f"nvidia-cuda-runtime{suffix}" for suffix in ("", "-cu13", "-cu12", "-cu11"))
_NAMES |= dict.fromkeys(_CUDAS, "cuda")

# The interpreter may lie on a file server that hangs: then it is this process that waits.
_BECOME = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
# Works for every Python 3, and imports none of the packages: TensorFlow takes seconds.
_ASK = """
import json, sys
try:
    from importlib.metadata import version
except ImportError:
    from pkg_resources import get_distribution
    version = lambda name: get_distribution(name).version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except Exception:
        pass
print(json.dumps({"python": "%d.%d.%d" % sys.version_info[:3], "packages": found}))
"""
_SITE = Pattern(r"(/\S.*/(?:site|dist)-packages)/tensorflow(?:_core)?/")
_DIST = Pattern(r"^(.+?)-([0-9][^-]*)(?:-[^/]*)?\.(?:dist|egg)-info$")
_PYTHON = Pattern(r"/python(\d\.\d+)/(?:site|dist)-packages$")
_CUDART = Pattern(r"/libcudart\.so\.(\d+[\d.]*)")
_DRIVER = Pattern(r"Module\D*?(\d{3,}\.[\d.]+)")


def versions_of(
    interpreter: Sequence[str], where: dict[str, Any], timeout_s: float = 10
) -> VersionsSeen | ProbeBlind:
    """What programs of an interpreter would import; `interpreter` may hold arguments."""
    command = (sys.executable, "-I", "-S", "-c", _BECOME, *interpreter, "-c", _ASK, *_NAMES)
    name = " ".join(interpreter)
    said = said_in_time(command, wait_s=timeout_s)
    try:
        answer = json.loads(said.out.strip().rpartition("\n")[2])
        packages = dict(answer["packages"])
        versions = {"python": str(answer["python"]), **_telling(packages.items())}
    except (ValueError, TypeError, KeyError):
        words = said.err.strip().rpartition("\n")[2][:WHY_LENGTH_MAX]
        late = f"no answer within {timeout_s:g} s" if said.code is None else ""
        why = late or words or f"it ended with code {said.code} and told no versions"
        return ProbeBlind(probe=f"versions of {name}", why=why, **where)
    return VersionsSeen(interpreter=name, versions={**versions, **_driver()}, **where)


def versions_of_process(pid: int, where: dict[str, Any]) -> VersionsSeen | None:
    """What a process has loaded, from the names of folders beside its TensorFlow.

    It is not touched, and needs not be ours: only readable.
    """
    maps = list(mapped_files(pid))
    site = next((found.group(1) for line in maps if (found := _SITE.search(line))), None)
    if site is None:
        return None
    try:
        names = os.listdir(f"/proc/{pid}/root{site}")  # noqa: PTH208 - as elsewhere in /proc
    except OSError:
        return None
    pairs = (found.groups() for name in names[:PACKAGES_MAX] if (found := _DIST.search(name)))
    versions = _telling(pairs)
    if python := _PYTHON.search(site):
        versions["python"] = python.group(1)
    cuda = next((found.group(1) for line in maps if (found := _CUDART.search(line))), "")
    if cuda:
        versions["cuda"] = cuda
    return VersionsSeen(interpreter=_program(pid), versions={**versions, **_driver()}, **where)


def loaded_tensorflow(pid: int) -> bool:
    """Whether a process has TensorFlow's libraries in its memory."""
    return any(_SITE.search(path) for path in mapped_files(pid))


def _telling(packages: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Those that matter, under one name each."""
    versions: dict[str, str] = {}
    for raw, version in packages:
        known = _NAMES.get(str(raw).lower().replace("_", "-"))
        if known is not None:
            versions.setdefault(known, str(version)[:VERSION_LENGTH_MAX])
    return versions


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - a stranger's name, not a path
    except OSError:
        return ""


def _driver() -> dict[str, str]:
    """The NVIDIA driver that the kernel of this host runs."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return {}
    found = _DRIVER.search(text)
    return {"driver": found.group(1)} if found else {}
