"""An environment of its own for every peer, under .envs, made on first use."""

import contextlib
import subprocess
import sys
from functools import cache
from pathlib import Path

ENVS = Path(__file__).parents[2] / ".envs"
INSTALL_S_MAX = 1800
WHY_CHARS_MAX = 120
PINS = {"torch": "torch==2.13.0", "tensorflow-2.15": "tensorflow-cpu==2.15.1"}


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
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
        # A wheel laid ready on this machine comes first: of torch, the one for CPUs is a
        # twentieth of the one that the index would give.
        with contextlib.suppress(NotAvailableError):
            _run([*pip, "--no-index", "--no-deps", package])
        _run([*pip, package])
        made.write_text(package)
    return folder / "bin"


def lack_of(peer: str) -> str:
    """Why a peer cannot be had here; empty: it can, or none is asked for."""
    try:
        _ = bin_of(peer) if peer else None
    except NotAvailableError as error:
        return f"{peer} cannot be installed here: {error}"
    return ""


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
