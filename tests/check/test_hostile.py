"""Strangers' names, sizes and contents: bounded, and never obeyed."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

Check = Any

EVIL = "\x1b]0;gone\x07\x1b[2J\u202eevil\x9b31m\x07"
UNSAFE = {"\x1b", "\x07", "\x9b", "\u202e"}
MEMORY_BYTES_MAX = 1 << 30
SECONDS_MAX = 20.0


def tf_config(cluster: Mapping[str, list[str]], role: str = "worker") -> dict[str, Any]:
    return {"cluster": cluster, "task": {"type": role, "index": 0}}


def test_nothing_in_a_definition_reaches_the_terminal_as_it_is(check: Check) -> None:
    cluster = {EVIL: [f"{EVIL}:1", "a:1"], "worker": [EVIL, "b:2\n::error::x"]}
    check.write("one.json", tf_config(cluster, EVIL))
    for shape in ("text", "json", "sarif", "junit", "github"):
        done = check("--offline", "-v", "--format", shape, "one.json")
        assert done.code == 3
        assert not UNSAFE & set(done.out + done.err), shape
        assert "\n::error::x" not in done.out


def test_nothing_in_a_name_of_a_file_does_either(check: Check) -> None:
    done = check("--offline", f"{EVIL}.json")
    assert done.code == 66
    assert not UNSAFE & set(done.err)
    check.write(f"{EVIL}.json", "{")
    done = check("--offline", "-v", f"{EVIL}.json")
    assert done.code == 3
    assert not UNSAFE & set(done.out)


def test_a_name_that_is_not_utf8_is_read_and_shown(check: Check) -> None:
    name = b"caf\xe9.json"
    with open(check.place.as_posix().encode() + b"/" + name, "wb") as file:  # noqa: PTH123
        file.write(json.dumps(tf_config({"worker": ["a:1", "b:1"]})).encode())
    for shape in ("text", "json", "sarif", "junit", "github"):
        done = check("--offline", "-v", "--format", shape, name)
        assert (done.code, done.err) == (0, ""), shape


MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_large_files_and_clusters_end_soon_with_a_clear_word(check: Check) -> None:
    check.write("large.json", "[" + "1," * (5 << 20) + "1]")
    many = tf_config({"worker": [f"h{n}:1" for n in range(100_000)]})
    check.write("many.json", many)
    check.write("deep.json", "[" * 1_000_000)
    began_s = time.monotonic()
    large = check("--offline", "large.json")
    assert (large.code, large.err.splitlines()[0]) == (
        65,
        "error: large.json is larger than 4 MiB: no definition is",
    )
    done = check("--offline", "many.json")
    assert done.code == 3
    assert "20000 tasks" in done.out
    assert len(done.out) < 4_000
    assert check("--offline", "deep.json").code == 3
    assert time.monotonic() - began_s < SECONDS_MAX
    assert memory_of(check, "--offline", "many.json") < MEMORY_BYTES_MAX


def memory_of(check: Check, *words: str) -> int:
    """The most that this command alone has used: who calls it here has other children, too."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "holdfast", "check", *words]
    done = subprocess.run(command, cwd=check.place, capture_output=True, check=True, timeout=60)
    return int(done.stdout) * 1024


def test_too_many_words_are_refused(check: Check) -> None:
    words = [",".join(f"h{n}:{port}" for n in range(5_000)) for port in range(1, 6)]
    done = check("--offline", *words)
    assert done.code == 65
    assert done.err.startswith("error: 25,000 addresses are more than the 20,000")
