"""Programs of `bench.situations`, played with plain Python in place of TensorFlow."""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # situations come from bench/
from bench.situations.situation import PROGRAMS, Run

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TOLD_S_MAX = 90.0  # how soon is for the bench to judge, on a quiet machine
TWO = ("--workers", "2")


class Stage:
    """Runs of a file: each in a folder of its own, beside copies of all programs."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.programs = folder / "programs"
        shutil.copytree(PROGRAMS, self.programs)
        shutil.copytree(HERE / "programs", self.programs, dirs_exist_ok=True)
        shutil.copy(self.programs / "plain_training.py", self.programs / "training.py")
        framework = self.programs / "site-packages" / "horovod"
        framework.mkdir(parents=True)
        shutil.copy(self.programs / "plain_framework.py", framework / "__init__.py")

    def home(self, name: str) -> Path:
        """An empty folder."""
        made = self._folder / name
        made.mkdir()
        return made

    def start(
        self,
        program: str,
        *words: str,
        options: Sequence[str] = TWO,
        home: Path | None = None,
        within: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        goes_on: bool = True,
    ) -> Run:
        """A program under `holdfast run`; with `goes_on` it does not wait for a word of ours."""
        folder = home or self.home(program)
        if goes_on:
            (folder / "go").touch()
        command = (*within, sys.executable, str(self.programs / f"{program}.py"), *words)
        return self._stack.enter_context(Run(folder, options, command, env or {}))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(tmp_path_factory.mktemp("situations"), stack)


Finding = Mapping[str, Any]


def until_told(run: Run, wanted: Callable[[Finding], bool]) -> Finding:
    """The first finding that is as it should be, while the job lives."""

    def found() -> Finding | None:
        return next((one for one in run.told() if wanted(one)), None)

    run.until(lambda _: found() is not None, TOLD_S_MAX)
    told = found()
    assert told is not None, f"{run.told()}\n{run.text[-3000:]}"
    return told


def text_of(finding: Finding) -> str:
    """All of its words."""
    return " ".join(
        (finding["says"], *finding["do"], *(one["text"] for one in finding["evidence"]))
    )
