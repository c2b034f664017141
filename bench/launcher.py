"""Starts one task the wrong way: `launcher.py --fault NAME [--task ROLE:INDEX] -- COMMAND`.

As a launch script of a site would be, it stands between whoever hands out TF_CONFIG and the
training program, and becomes that program: /proc/PID/environ shows what the task really uses.
"""

import argparse
import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.fault import Config, Fault, address_of
from bench.starts import Start, become, is_listening

BESIDE_S_MAX = 20.0
PR_SET_PDEATHSIG = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", required=True)
    parser.add_argument("--task", default=os.environ.get("HOLDFAST_TASK"))
    parser.add_argument("--end-with-parent", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    command = asked.command[asked.command[:1] == ["--"] :]
    if asked.end_with_parent:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    handed: Config = json.loads(os.environ["TF_CONFIG"])
    fault = load(asked.fault)
    port = int(address_of(handed, asked.task).rpartition(":")[2])
    use(fault.config_of(asked.task, handed))
    start: Start = become
    if asked.task in fault.tasks:
        os.environ.update(fault.env)
        if fault.beside:
            start_beside(fault.beside(handed), port)
        start = fault.start
    start(command, port)


def load(name: str) -> Fault:
    found: Fault = importlib.import_module(f"bench.faults.{name.replace('-', '_')}").fault
    return found


def use(config: Config | str | None) -> None:
    os.environ.pop("TF_CONFIG", None)
    if config is not None:
        os.environ["TF_CONFIG"] = config if isinstance(config, str) else json.dumps(config)


def start_beside(command: list[str], port: int) -> None:
    """A stranger, who was here first."""
    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline_s = time.monotonic() + BESIDE_S_MAX
    while not is_listening(port) and time.monotonic() < deadline_s:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
