"""An environment of its own for every peer, under .envs, made on first use."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

ENVS = Path(__file__).parents[2] / ".envs"
INSTALL_S_MAX = 1800
WHY_CHARS_MAX = 120
PINS = {
    "torch": "torch==2.13.0",
    "tensorflow-2.15": "tensorflow-cpu==2.15.1",
    "tensorflow-2.11": "tensorflow-cpu==2.11.0",
    "tensorflow-1.15": "tensorflow-cpu==1.15.0 protobuf<3.21 h5py<3",
}
PYTHONS = {"tensorflow-2.11": "3.7", "tensorflow-1.15": "3.7"}  # where ours is too new for it


_MAKING = threading.Lock()  # jobs that run at once must not make one environment twice


class NotAvailableError(Exception):
    """A peer cannot be measured here; the text says why."""


@cache
def bin_of(peer: str) -> Path:
    """Where a peer's programs are; its package is called as it is, where no pin says otherwise."""
    package = PINS.get(peer, peer)
    folder = ENVS / peer
    made = folder / ".made"
    if not made.exists() or made.read_text() != package:
        print(f"installing {package} into {folder}", flush=True)
        _run([_python(PYTHONS.get(peer, "")), "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
        # A wheel laid ready on this machine comes first: of torch, the one for CPUs is a
        # twentieth of the one that the index would give.
        with contextlib.suppress(NotAvailableError):
            _run([*pip, "--no-index", "--no-deps", *package.split()])
        _run([*pip, *package.split()])
        made.write_text(package)
    return folder / "bin"


def lack_of(peer: str) -> str:
    """Why a peer cannot be had here; empty: it can, or none is asked for."""
    try:
        with _MAKING:
            _ = bin_of(peer) if peer else None
    except NotAvailableError as error:
        return f"{peer} cannot be installed here: {error}"
    return ""


def _python(version: str) -> str:
    """An interpreter of this version, on the path or one of pyenv's; ours where none is asked."""
    if not version:
        return sys.executable
    found = shutil.which(f"python{version}", path=_path_of_pythons(version))
    if not found:
        raise NotAvailableError(f"there is no Python {version}: pyenv install {version}")
    return found


def _path_of_pythons(version: str) -> str:
    """pyenv's own first: its python3.7 on the path starts nothing unless somebody chose it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    bins = [str(one) for one in sorted((pyenv / "versions").glob(f"{version}.*/bin"))]
    return os.pathsep.join([*bins, os.environ.get("PATH", "")])


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S_MAX)
    except subprocess.CalledProcessError as error:
        raise NotAvailableError(last_line(error.stderr)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailableError(last_line(str(error))) from error


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:WHY_CHARS_MAX] if lines else "no reason was given"
