"""Variables and versions, of ourselves and of processes that really run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from holdfast.model.facts import ProbeBlind, VersionsSeen
from holdfast.probes.environment import environment_of, seen_environment
from holdfast.probes.versions import loaded_tensorflow, versions_of, versions_of_process

WHERE = {"at_s": 0.5, "host": "host-a"}
GONE = 2**22 + 1


@contextmanager
def running(program: str, **environment: str) -> Iterator[int]:
    """A Python program that has printed a line, and then waits for us."""
    with subprocess.Popen(
        [sys.executable, "-c", f"{program}\nprint('ready', flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            process.kill()


def test_only_variables_that_matter_are_kept_and_without_secrets() -> None:
    seen = seen_environment(
        {
            "http_proxy": "http://ada:hunter2@proxy.site:3128/",
            "HTTPS_PROXY": "http://proxy.site:3128/",
            "no_proxy": "",
            "GRPC_VERBOSITY": "debug",
            "HDF5_USE_FILE_LOCKING": "FALSE",
            "AWS_SECRET_ACCESS_KEY": "not to be seen",
            "HOME": "/home/user",
        },
        WHERE,
        pid=17,
    )
    assert seen.pid == 17
    assert set(seen.variables) == {
        *("http_proxy", "HTTPS_PROXY", "no_proxy", "GRPC_VERBOSITY", "HDF5_USE_FILE_LOCKING")
    }
    assert seen.variables["http_proxy"].endswith("@proxy.site:3128/")
    assert "hunter2" not in str(seen)


def test_a_value_without_end_is_cut() -> None:
    seen = seen_environment({"no_proxy": "a," * 100_000}, WHERE)
    assert len(seen.variables["no_proxy"]) == 4_096


def test_the_environment_of_a_process_is_what_it_was_started_with() -> None:
    with running("import os; del os.environ['http_proxy']", http_proxy="http://p:1/") as pid:
        environment = environment_of(pid)
    assert environment is not None
    assert environment["http_proxy"] == "http://p:1/"
    assert environment_of(GONE) is None


def test_an_interpreter_tells_its_versions_without_importing_them() -> None:
    seen = versions_of([sys.executable], WHERE)
    assert isinstance(seen, VersionsSeen)
    assert seen.interpreter == sys.executable
    assert seen.versions["python"] == ".".join(map(str, sys.version_info[:3]))
    for package in ("protobuf", "numpy", "keras", "grpcio", "h5py"):
        assert seen.versions[package] == version(package)
    assert seen.versions["tensorflow"] == version("tensorflow-cpu")


def test_an_interpreter_that_is_broken_is_told_in_its_own_words(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text(
        "#!/bin/sh\necho libpython3.9.so: cannot open shared object file >&2\nexit 9\n"
    )
    broken.chmod(0o755)
    blind = versions_of([str(broken)], WHERE)
    assert isinstance(blind, ProbeBlind)
    assert blind.why == "libpython3.9.so: cannot open shared object file"


def test_an_interpreter_that_is_none_is_not_taken_for_one(tmp_path: Path) -> None:
    gone = versions_of([str(tmp_path / "gone")], WHERE)
    silent = versions_of(["/bin/false"], WHERE)
    chatty = versions_of(["/bin/echo"], WHERE)
    for blind in (gone, silent, chatty):
        assert isinstance(blind, ProbeBlind)
        assert blind.why
    assert isinstance(gone, ProbeBlind)
    assert "No such file" in gone.why


def test_an_interpreter_that_never_answers_is_left_in_time(tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    blind = versions_of([str(slow)], WHERE, timeout_s=0.5)
    assert isinstance(blind, ProbeBlind)
    assert blind.why == "no answer within 0.5 s"


def test_a_running_process_is_told_by_what_it_has_loaded() -> None:
    with running("import tensorflow") as pid:
        assert loaded_tensorflow(pid)
        seen = versions_of_process(pid, WHERE)
    assert seen is not None
    assert seen.versions["tensorflow"] == version("tensorflow-cpu")
    assert seen.versions["protobuf"] == version("protobuf")
    assert seen.versions["python"] == ".".join(map(str, sys.version_info[:2]))


def test_a_process_without_tensorflow_has_no_versions() -> None:
    with running("pass") as pid:  # not this one: other tests may have imported it here
        assert not loaded_tensorflow(pid)
        assert versions_of_process(pid, WHERE) is None
    assert not loaded_tensorflow(GONE)
    assert versions_of_process(GONE, WHERE) is None
