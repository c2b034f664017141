"""Every tensor of a checkpoint, read once by the user's own interpreter: does it give them all?"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from holdfast.logdir.checkpoints import Listing, find_checkpoints
from holdfast.model.signals import CRASHES, signal_name
from holdfast.recover.checkpoints import Checkpoint, Choice, Form, choose

READ_S = 300.0
SAID_BYTES_MAX = 1 << 16
WHY_LENGTH_MAX = 200
END_S = 5.0

# For any Python 3 with TensorFlow or h5py. It prints one line of JSON: its last.
_READ = r"""
import json, os, sys
form, path = sys.argv[1:3]
os.environ.pop("TF_CONFIG", None)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

def whole_bundle():
    import tensorflow as tf
    reader = tf.train.load_checkpoint(path)
    steps = {}
    for name in sorted(reader.get_variable_to_shape_map()):
        value = reader.get_tensor(name)
        last = name.replace("/.ATTRIBUTES/VARIABLE_VALUE", "").rpartition("/")[2]
        if last in ORDER and getattr(value, "shape", None) == () and value.dtype.kind in "iu":
            steps.setdefault(last, int(value))
    return next((steps[last] for last in ORDER if last in steps), -1)

def whole_file():
    import h5py, io, zipfile
    source = path
    if zipfile.is_zipfile(path):
        archive = zipfile.ZipFile(path)
        bad = archive.testzip()
        if bad is not None:
            raise OSError("the checksum of %s is wrong" % bad)
        source = io.BytesIO(archive.read("model.weights.h5"))
    with h5py.File(source, "r") as file:
        file.visititems(lambda name, one: one[()] is None if hasattr(one, "dtype") else None)
    return -1

ORDER = ("global_step", "step", "iterations", "_iterations", "iter")
try:
    told = {"step": whole_bundle() if form == "bundle" else whole_file()}
except (ImportError, MemoryError) as error:
    told = {"unable": repr(error)}
except Exception as error:
    told = {"damage": (str(error) or repr(error)).strip().partition("\n")[0]}
print("\n" + json.dumps(told))
"""


def newest_whole(
    folder: Path,
    *,
    interpreter: Sequence[str] = (),
    within_s: float = READ_S,
    reached_step: int = -1,
    earlier: Listing | None = None,
) -> Choice:
    """The newest that can be used; with an interpreter, the newest that it could read whole."""
    until_s = time.monotonic() + within_s
    found = find_checkpoints(folder, earlier=earlier)
    while True:
        choice = choose(found, reached_step=reached_step)
        chosen = choice.chosen
        if chosen is None or not interpreter or chosen.read_whole or chosen.unread:
            return choice
        read = read_whole(chosen, interpreter, within_s=until_s - time.monotonic())
        found = [read if one.path == read.path else one for one in found]


def read_whole(
    checkpoint: Checkpoint, interpreter: Sequence[str], *, within_s: float = READ_S
) -> Checkpoint:
    """The same checkpoint, with what came of reading it. Too little time proves nothing."""
    form = "bundle" if checkpoint.form is Form.BUNDLE else "file"
    command = [*interpreter, "-c", _READ, form, checkpoint.path]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _run(command, out, err, within_s)
        told = _told(_tail(out))
        words = _tail(err).strip().rpartition("\n")[2][:WHY_LENGTH_MAX]
    if "damage" in told:
        return replace(checkpoint, damage=f"it cannot be read: {told['damage']}"[:WHY_LENGTH_MAX])
    if "step" in told:
        return _with_step(checkpoint, told["step"])
    if code is None:
        return replace(checkpoint, unread=f"not read within {within_s:.0f} s")
    if -code in CRASHES:
        return replace(checkpoint, damage=f"reading it ended with {signal_name(-code)}")
    why = told.get("unable") or words or f"its reader ended with code {code}"
    return replace(checkpoint, unread=str(why)[:WHY_LENGTH_MAX])


def _with_step(checkpoint: Checkpoint, step: Any) -> Checkpoint:
    known = isinstance(step, int) and step >= 0
    return replace(checkpoint, read_whole=True, step=step if known else checkpoint.step)


def _run(command: Sequence[str], out: IO[bytes], err: IO[bytes], within_s: float) -> int | None:
    """Its exit code; None: it was ended, with all that it had started, because time was up."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
    except OSError as error:
        err.write(f"cannot start {command[0]}: {error.strerror}".encode())
        return 127
    try:
        return child.wait(timeout=max(0.0, within_s))
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        # One that hangs in the kernel, on storage that does not answer, cannot be waited for.
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=END_S)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SAID_BYTES_MAX))
    return file.read(SAID_BYTES_MAX).decode(errors="replace")


def _told(said: str) -> dict[str, Any]:
    try:
        told = json.loads(said.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
