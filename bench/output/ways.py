"""The ways to keep a child's output that are compared: the limit, Holdfast, and the peers."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.output.envs import bin_of

FLOOD = Path(__file__).with_name("flood.py")
_COMMUNICATE = (
    "import subprocess, sys; child = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE);"
    " open(sys.argv[1], 'wb').write(child.communicate()[1])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where one measurement takes place, and what floods it."""

    folder: Path
    children: int
    lines: int
    seconds: float

    @property
    def command(self) -> list[str]:
        limits = [str(self.lines), str(self.seconds)]
        return [sys.executable, str(FLOOD), str(self.folder), *limits]

    def file(self, child: int) -> Path:
        return self.folder / f"{child}.err"


Started = list[subprocess.Popen[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    name: str
    start: Callable[[Ground], Started]
    kept: Callable[[Ground, int], Path]  # where a child's output is afterwards
    stays: bool = False  # does not end when its children have


def start(
    command: Iterable[str],
    *,
    out: int = subprocess.DEVNULL,
    err: int = subprocess.DEVNULL,
    child: int = 0,
) -> subprocess.Popen[bytes]:
    env = {**os.environ, "FLOOD_CHILD": str(child)}
    return subprocess.Popen(
        [*command],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=env,
        start_new_session=True,
    )


def appended(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def straight(ground: Ground) -> Started:
    started = []
    for child in range(ground.children):
        fd = appended(ground.file(child))
        started.append(start(ground.command, err=fd, child=child))
        os.close(fd)
    return started


def holdfast_command(ground: Ground, *options: str) -> list[str]:
    where = ["--run-dir", str(ground.folder / "run"), "--workers", str(ground.children)]
    return [sys.executable, "-m", "holdfast", "run", *where, *options, "--", *ground.command]


def holdfast_quiet(ground: Ground) -> Started:
    return [start(holdfast_command(ground, "--quiet"))]


def holdfast_live(ground: Ground) -> Started:
    return [start(holdfast_command(ground))]


def holdfast_kept(ground: Ground, child: int) -> Path:
    return ground.folder / "run" / "logs" / f"worker-{child}.1.err"


def cat(ground: Ground) -> Started:
    started = []
    for child in range(ground.children):
        reader, writer = os.pipe()
        fd = appended(ground.file(child))
        started.append(start(ground.command, err=writer, child=child))
        os.close(writer)
        started.append(subprocess.Popen(["cat"], stdin=reader, stdout=fd, start_new_session=True))
        os.close(reader)
        os.close(fd)
    return started


def communicate(ground: Ground) -> Started:
    return [
        start(
            [sys.executable, "-c", _COMMUNICATE, str(ground.file(child)), *ground.command],
            child=child,
        )
        for child in range(ground.children)
    ]


def torchrun(ground: Ground, option: str) -> Started:
    logs = ground.folder / "torchrun"
    options = ["--standalone", "--nproc-per-node", str(ground.children), option, "3"]
    program = [str(bin_of("torch") / "torchrun"), *options, "--log-dir", str(logs), "--no-python"]
    fd = appended(ground.folder / "console")
    started = [start([*program, *ground.command], out=fd, err=fd)]
    os.close(fd)
    return started


def torchrun_kept(ground: Ground, child: int) -> Path:
    found = sorted((ground.folder / "torchrun").glob(f"*/attempt_0/{child}/stderr.log"))
    return found[0] if found else ground.folder / "torchrun"


def supervisord(ground: Ground) -> Started:
    settings = ground.folder / "supervisord.conf"
    settings.write_text(
        "[supervisord]\nnodaemon=true\n"
        f"logfile={ground.folder}/supervisord.log\npidfile={ground.folder}/supervisord.pid\n"
        f"[program:flood]\ncommand={shlex.join(ground.command)}\nautorestart=false\nstartsecs=0\n"
        f"numprocs={ground.children}\nprocess_name=%(process_num)d\n"
        'environment=FLOOD_CHILD="%(process_num)d"\n'
        f"stderr_logfile={ground.folder}/%(process_num)d.err\nstderr_logfile_maxbytes=0\n"
    )
    return [start([str(bin_of("supervisor") / "supervisord"), "-c", str(settings)])]


def honcho(ground: Ground) -> Started:
    """It ends when its first child ends, so it can be asked for one child only."""
    procfile = ground.folder / "Procfile"
    procfile.write_text(f"flood: {shlex.join(ground.command)}\n")
    fd = appended(ground.file(0))
    started = [start([str(bin_of("honcho") / "honcho"), "-f", str(procfile), "start"], out=fd)]
    os.close(fd)
    return started


LIMIT = Way(name="straight to file", start=straight, kept=Ground.file)
QUIET = Way(name="holdfast run --quiet", start=holdfast_quiet, kept=holdfast_kept)
LIVE = Way(name="holdfast run, live view", start=holdfast_live, kept=holdfast_kept)
PEERS = (
    Way(name="cat", start=cat, kept=Ground.file),
    Way(name="subprocess.communicate", start=communicate, kept=Ground.file),
    Way(
        name="torchrun --redirects 3",
        start=lambda ground: torchrun(ground, "--redirects"),
        kept=torchrun_kept,
    ),
    Way(
        name="torchrun --tee 3", start=lambda ground: torchrun(ground, "--tee"), kept=torchrun_kept
    ),
    Way(name="supervisord", start=supervisord, kept=Ground.file, stays=True),
    Way(name="honcho", start=honcho, kept=Ground.file),
)
