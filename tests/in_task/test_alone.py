"""Where Holdfast is not installed, what runs in a task is still there to be imported."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.in_task.conftest import Job

import holdfast

IN_TASK = Path(holdfast.__file__).parent / "in_task"
# What `--guard-hdf5` takes into a task of whatever Python.
GUARD = [
    IN_TASK.parent / "rows" / f"{name}.py"
    for name in (
        *("errors", "guard", "guarded_files", "inode_lock"),
        *("lease", "lease_record", "mounts", "open_files"),
    )
]
STEPS = "import holdfast\nholdfast.progress(1)\nprint('told')"
BARE = f"{sys.base_prefix}/bin/python3"  # the interpreter below ours: it has no packages


@pytest.fixture(autouse=True)
def found_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests from a checkout has it on the path."""
    monkeypatch.delenv("PYTHONPATH", raising=False)


def said(job: Job, code: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [BARE, "-c", code], env=job.env(**more), capture_output=True, text=True, check=False
    )


def test_progress_is_found_and_tells(job: Job) -> None:
    done = said(job, "import holdfast\nholdfast.progress(3)\nprint(holdfast.__file__)")
    assert (done.stdout, done.stderr) == (f"{IN_TASK}/__init__.py\n", "")


def test_the_part_for_tensorflow_is_found(job: Job) -> None:
    done = said(job, "import holdfast.tf\nprint(holdfast.tf.logdir('/data').summaries)")
    assert (done.stdout, done.stderr) == ("/data/summaries/worker-0\n", "")


def test_what_is_not_there_says_so(job: Job) -> None:
    done = said(job, "import holdfast\nholdfast.run_process")
    assert "where Holdfast itself is not installed" in done.stderr


def test_last_words_are_written(job: Job) -> None:
    assert said(job, "raise ValueError('no')").returncode == 1
    assert len(list(job.folder.glob("worker-0.*.last-words.json"))) == 1


def test_an_installed_holdfast_comes_first(job: Job) -> None:
    done = job.done("import holdfast; print(holdfast.__version__)")
    assert done.stdout == f"{holdfast.__version__}\n"


def test_another_package_of_that_name_comes_first(job: Job, tmp_path: Path) -> None:
    (tmp_path / "holdfast.py").write_text("progress = 'theirs'\n")
    code = (
        f"import sys; sys.path.append({str(tmp_path)!r}); import holdfast; print(holdfast.progress)"
    )
    assert said(job, code).stdout == "theirs\n"


@pytest.mark.parametrize("path", [*IN_TASK.rglob("*.py"), *GUARD], ids=lambda path: path.name)
def test_it_is_written_for_every_python_that_tensorflow_1_15_runs_on(path: Path) -> None:
    """That it runs there, too, is seen by `make test-python-3.7`, where one is to be had."""
    ast.parse(path.read_text(), feature_version=(3, 7))


def test_a_python_without_a_hook_for_threads_tells_steps_all_the_same(job: Job) -> None:
    done = said(job, "import threading\ndel threading.excepthook\n" + STEPS)
    assert done.stdout == "told\n"
    assert "what ends a thread is not written down" in done.stderr


def test_only_what_starts_a_task_stands_on_its_path() -> None:
    assert {path.name for path in (IN_TASK / "at_start").glob("*.py")} == {
        "__init__.py",
        "sitecustomize.py",
    }
