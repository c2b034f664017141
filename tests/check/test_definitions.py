"""Good and broken definitions, in every way that a user can name one."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

Check = Any
GOOD = {
    "chief": ["host-a:2222"],
    "ps": ["host-b:2222"],
    "worker": ["host-c:2222", "host-d:2222"],
}


def tf_config(cluster: Mapping[str, list[str]], role: str = "worker", index: int = 0) -> Any:
    return {"cluster": cluster, "task": {"type": role, "index": index}}


OFFLINE = "--offline"


def write_all(check: Check) -> list[str]:
    return [
        check.write(f"{role}-{index}.json", tf_config(GOOD, role, index))
        for role, listed in GOOD.items()
        for index in range(len(listed))
    ]


def test_good_definitions_are_called_good(check: Check) -> None:
    names = write_all(check)
    done = check(OFFLINE, *names)
    assert done.code == 0, done.out
    assert "✓ Definition  4 tasks: chief:0 ps:0 worker:0 worker:1, in 4 definitions\n" in done.out
    assert "✓ Agreement   4 definitions name the same tasks at the same addresses\n" in done.out
    assert "nothing wrong was found: 4 tasks on 4 hosts, in " in done.out
    assert done.err == ""


def test_a_definition_can_be_named_in_many_ways(check: Check) -> None:
    text = json.dumps(tf_config(GOOD))
    check.write("one.json", text)
    ways = [
        check.json(OFFLINE, "one.json"),
        check.json(OFFLINE, text),
        check.json(OFFLINE, f"TF_CONFIG={text}"),
        check.json(OFFLINE, env={"TF_CONFIG": text}),
        check("--format", "json", OFFLINE, "-", stdin=text.encode()),
        check.json(OFFLINE, "host-c:2222,host-d:2222", "chief=host-a:2222", "ps=host-b:2222"),
    ]
    for done in ways:
        assert (done.code, done.causes) == (0, set()), done.out
        says = next(row["says"] for row in done.report["check"])
        assert says == "4 tasks: chief:0 ps:0 worker:0 worker:1"


def test_a_directory_means_all_its_json_files(check: Check) -> None:
    (check.place / "specs").mkdir()
    for index in range(2):
        check.write(
            f"specs/worker-{index}.json", tf_config({"worker": ["a:1", "b:1"]}, index=index)
        )
    check.write("specs/README.txt", "not one")
    done = check.json(OFFLINE, "specs")
    assert (done.code, done.state("Agreement")) == (0, "ok")


BROKEN = {
    "spec-unreadable": "{'cluster': {'worker': ['a:1']}}",
    "spec-bad-address": json.dumps(tf_config({"worker": ["a", "b:1"]})),
    "spec-duplicate-address": json.dumps(tf_config({"worker": ["a:1", "a:1"]})),
    "spec-wrong-task": json.dumps(tf_config({"worker": ["a:1", "b:1"]}, index=2)),
    "spec-two-chiefs": json.dumps(tf_config({"chief": ["a:1", "b:1"], "worker": ["c:1"]})),
}


@pytest.mark.parametrize("cause", BROKEN)
def test_a_broken_definition_is_an_error(check: Check, cause: str) -> None:
    check.write("one.json", BROKEN[cause])
    done = check.json(OFFLINE, "one.json")
    assert done.code == 3
    assert cause in done.causes
    text = check(OFFLINE, "one.json")
    assert text.code == 3
    assert "✗ " in text.out
    assert f"error[{cause}]: " in text.out
    assert "      fix  " in text.out
    assert "`holdfast explain CAUSE` tells more" in text.out


def test_definitions_that_differ_are_shown_side_by_side(check: Check) -> None:
    for index, last in enumerate(("host-b:2222", "host-b:2222", "host-x:2222")):
        workers = ["host-a:2222", last, "host-c:2222"]
        check.write(f"w{index}.json", tf_config({"worker": workers}, index=index))
    done = check(OFFLINE, "w0.json", "w1.json", "w2.json")
    assert done.code == 3
    assert "✗ Agreement" in done.out
    rows = [row.split() for row in done.out.splitlines()]
    assert ["w0.json", "+1", "w2.json", "*"] in rows
    assert ["worker:1", "host-b:2222", "host-x:2222"] in rows


def test_without_a_definition_it_says_so(check: Check) -> None:
    done = check(OFFLINE)
    assert done.code == 3
    assert "TF_CONFIG is not set" in done.out
    assert "Roles, Addresses, Agreement: there is no definition" in done.out


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("SLURM_JOB_ID", "Slurm"),
        ("RAY_ADDRESS", "Ray"),
        ("KUBERNETES_SERVICE_HOST", "Kubernetes"),
    ],
)
def test_launchers_whose_tasks_are_not_read_are_named(
    check: Check, variable: str, name: str
) -> None:
    done = check.json(OFFLINE, env={variable: "1"})
    assert f"{name} started this ({variable} is set)" in " ".join(done.report["unknown"])


def test_a_warning_fails_only_when_asked(check: Check) -> None:
    cluster = {"ps": ["host-b:2222"], "worker": ["host-c:2222"]}
    check.write("one.json", {"cluster": cluster})
    assert check.json(OFFLINE, "one.json").causes == {"spec-wrong-task"}
    assert check(OFFLINE, "one.json").code == 0
    done = check(OFFLINE, "--fail-on", "warning", "one.json")
    assert done.code == 3
    assert "! Roles" in done.out


def test_a_job_file_is_checked_too(check: Check) -> None:
    check.write("job.toml", 'command = ["python3", "train.py"]\nworkers = 2\nps = 1\n')
    done = check(OFFLINE, "job.toml")
    assert done.code == 0
    assert "✓ Definition  3 tasks on this host, each with a TF_CONFIG of its own\n" in done.out
    check.write("job.toml", 'command = ["python3"]\nwrokers = 2\n')
    done = check(OFFLINE, "job.toml")
    assert (done.code, done.err.splitlines()[1]) == (78, "  try: did you mean `workers`?")


def test_what_cannot_be_read_is_one_clear_sentence(check: Check, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "nul").write_bytes(b"{\0}")
    (tmp_path / "empty-dir").mkdir()
    (tmp_path / "cut.facts").write_text('{"fact":"SpecRead","v":1,"at_s"')
    os.mkfifo(tmp_path / "pipe")
    wanted = {
        "missing.json": (66, "missing.json cannot be read: No such file or directory"),
        "host-a": (66, "host-a cannot be read"),
        "some/host:2222": (66, "some/host:2222 cannot be read"),
        "binary": (65, "binary is not text"),
        "nul": (65, "nul is not text"),
        "empty-dir": (66, "the directory empty-dir holds no *.json"),
        "cut.facts": (65, "cut.facts, line 1: not a fact"),
        "/dev/zero": (65, "/dev/zero is neither a file nor a pipe"),
    }
    for word, (code, says) in wanted.items():
        done = check(OFFLINE, word)
        assert (done.code, done.out) == (code, ""), word
        assert done.err.startswith(f"error: {says}")
        assert "Traceback" not in done.err
    assert check.json(OFFLINE, "pipe").causes == {"spec-unreadable"}  # nobody writes: empty


def test_wrong_usage_is_told(check: Check) -> None:
    check.write("a.json", tf_config(GOOD))
    check.write("job.toml", 'command = ["x"]\n')
    check.write("r.facts", '{"fact":"TimePassed","v":1,"at_s":1.0,"host":"host-a"}\n')
    for words in (
        ("--task", "worker:9", "a.json"),
        ("job.toml", "a.json"),
        ("r.facts", "a.json"),
        ("--format", "yaml"),
    ):
        done = check(OFFLINE, *words)
        assert done.code == 2, words
        assert done.out == ""
    assert check(OFFLINE, "--task", "nonsense", "a.json").code == 65


def test_colour_is_for_people_or_for_who_asks(check: Check) -> None:
    assert "\x1b[32m✓\x1b[0m" in check(OFFLINE, "a:1,b:1", env={"FORCE_COLOR": "1"}).out
    both = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b" not in check(OFFLINE, "a:1,b:1", env=both).out
    assert "\x1b" not in check.json(OFFLINE, "a:1,b:1", env={"FORCE_COLOR": "1"}).out
