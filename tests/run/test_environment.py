"""What every task is given: its TF_CONFIG, its variables, a clean start."""

import json
import os
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(60)
Start = Any
TELL = (
    "import json, os, sys;"
    "print(json.dumps({'env': dict(os.environ), 'argv': sys.argv[1:], 'cwd': os.getcwd(),"
    " 'stdin': sys.stdin.read(), 'fds': os.listdir('/proc/self/fd')}))"
)
TELL_ALL = ("--", sys.executable, "-c", TELL)


def told(job: Any, task: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(job.log(task))
    return loaded


def test_every_task_gets_its_own_place_in_one_cluster(start: Start) -> None:
    job = start("--chief", "--ps", "2", "--workers", "2", "--evaluator", *TELL_ALL)
    assert job.wait() == 0
    members = ["chief:0", "ps:0", "ps:1", "worker:0", "worker:1"]
    configs = {
        task: json.loads(told(job, task)["env"]["TF_CONFIG"]) for task in (*members, "evaluator:0")
    }
    cluster = configs["chief:0"]["cluster"]
    assert {role: len(addresses) for role, addresses in cluster.items()} == {
        "chief": 1,
        "ps": 2,
        "worker": 2,
    }
    addresses = [address for role in cluster.values() for address in role]
    assert len(set(addresses)) == len(members)
    assert all(re.fullmatch(r"127\.0\.0\.1:\d{5}", address) for address in addresses)
    for task, config in configs.items():
        role, index = task.split(":")
        assert config == {"cluster": cluster, "task": {"type": role, "index": int(index)}}
        listed = cluster.get(role, [])
        assert job.about["cluster"][task] == (listed[int(index)] if listed else job_address(job))
    job.nothing_is_left()


def job_address(job: Any) -> str:
    """The evaluator's own address, which nobody else knows."""
    address: str = job.about["cluster"]["evaluator:0"]
    assert address not in json.dumps(json.loads(told(job, "chief:0")["env"]["TF_CONFIG"]))
    return address


def test_every_task_knows_its_run(start: Start, tmp_path: Path) -> None:
    job = start("--workers", "2", "--env", "A=b=c d", "--env", "HOME=/nowhere", *TELL_ALL)
    assert job.wait() == 0
    for task in ("worker:0", "worker:1"):
        found = told(job, task)
        ours = {name: value for name, value in found["env"].items() if name.startswith("HOLDFAST_")}
        del ours["HOLDFAST_TEST"]
        assert ours == {
            "HOLDFAST_RUN_ID": job.about["run_id"],
            "HOLDFAST_RUN_DIR": str(job.run_dir),
            "HOLDFAST_TASK": task,
            "HOLDFAST_ATTEMPT": "1",
            "HOLDFAST_STACKS_DIR": str(job.run_dir / "stacks"),
            "HOLDFAST_IN_TASK_DIR": str(job.run_dir / "in-task"),
        }
        assert found["env"]["A"] == "b=c d"
        assert found["env"]["HOME"] == "/nowhere"
        assert found["env"]["PATH"] == os.environ["PATH"]
        assert found["env"]["PYTHONUNBUFFERED"] == "1"
        assert found["cwd"] == str(tmp_path)
        assert found["stdin"] == ""
        # 3 is how it looked; 200 its file for stacks, closed when it becomes another program.
        assert set(found["fds"]) <= {"0", "1", "2", "3", "200"}, "nothing else of ours"


def test_the_command_needs_no_dashes_and_keeps_its_options(start: Start) -> None:
    script = start.script("tell.py", f"import sys\n{TELL}\n")
    job = start(sys.executable, script, "--workers", "7", "-q", "--", "x y")
    assert job.wait() == 0
    assert told(job, "worker:0")["argv"] == ["--workers", "7", "-q", "--", "x y"]
    assert list(job.about["cluster"]) == ["worker:0"]


def test_a_job_file_says_the_same_as_the_command_line(start: Start) -> None:
    file = start.place / "job.toml"
    file.write_text(
        f"command = {json.dumps(['sh', '-c', 'echo $WHO $LEVEL; exec sleep 0', 'x'])}\n"
        "workers = 2\nps = 1\ngrace_s = 3.5\nkeep_bytes = '1M'\n"
        "[env]\nWHO = 'file'\nLEVEL = 3\n"
    )
    plain = start(str(file))
    over = start("--workers", "1", "--ps", "0", "--chief", "--env", "WHO=flag", str(file))
    assert plain.wait() == over.wait() == 0
    assert list(plain.about["cluster"]) == ["ps:0", "worker:0", "worker:1"]
    assert plain.about["job"]["grace_s"] == 3.5
    assert plain.about["job"]["keep_bytes"] == 1 << 20
    assert plain.log("worker:1") == b"file 3\n"
    assert list(over.about["cluster"]) == ["chief:0", "worker:0"]
    assert over.about["job"]["grace_s"] == 3.5
    assert over.log("worker:0") == b"flag 3\n"


FLAGS = """
import argparse, os
flags = argparse.ArgumentParser()
for name in ("job_name", "task_index", "ps_hosts", "worker_hosts", "config"):
    flags.add_argument("--" + name)
asked = flags.parse_args()
print(asked.job_name, asked.task_index, asked.ps_hosts, asked.worker_hosts, asked.config)
print(os.environ["LOG_DIR"])
"""


def test_a_program_of_tensorflow_1_hears_its_place_by_flags(start: Start) -> None:
    flags = ["--job_name={role}", "--task_index={index}", "--ps_hosts={ps_hosts}"]
    flags += ["--worker_hosts", "{worker_hosts}", "--config", '{"steps": 3}']
    command = [sys.executable, start.script("flags.py", FLAGS), *flags]
    file = start.place / "job.toml"
    file.write_text(
        f"command = {json.dumps(command)}\nps = 1\nworkers = 2\n"
        "[env]\nLOG_DIR = 'logs/{role}-{index}'\n"
    )
    job = start(str(file))
    assert job.wait() == 0
    where = job.about["cluster"]
    rest = f"{where['ps:0']} {where['worker:0']},{where['worker:1']} " + '{"steps": 3}'
    assert job.log("worker:1").decode() == f"worker 1 {rest}\nlogs/worker-1\n"
    assert job.log("worker:0").decode() == f"worker 0 {rest}\nlogs/worker-0\n"
    assert job.about["job"]["command"] == command, "as it was asked for"


def test_a_placeholder_that_is_almost_right_starts_nothing(holdfast: Callable[..., Any]) -> None:
    refused = holdfast("run", "--", "train", "--job_name={rol}")
    assert refused.returncode == 2
    assert "{rol} is no placeholder" in refused.stderr
    assert "did you mean {role}? As a literal, write {{rol}}" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        "--workers 2 --quiet --env WHO=me job.toml",
        "job.toml --workers 2 --quiet --env WHO=me",
        "--workers 2 job.toml --env=WHO=me -q",
        "--workers 7 job.toml -q --workers 2 --env WHO=me",
        "job.toml --workers 2 -q --env WHO=me --",
    ],
)
def test_options_stand_before_or_after_a_job_file(start: Start, words: str) -> None:
    file = start.place / "job.toml"
    file.write_text(f"command = {json.dumps(['sh', '-c', 'echo $WHO'])}\nworkers = 1\n")
    job = start(*(str(file) if word == "job.toml" else word for word in words.split()))
    assert job.wait() == 0
    assert list(job.about["cluster"]) == ["worker:0", "worker:1"]
    assert job.log("worker:1") == b"me\n"
    assert "me" not in job.out.split()  # it is quiet


def test_a_command_behind_dashes_takes_the_place_of_the_job_files_own(start: Start) -> None:
    file = start.place / "job.toml"
    file.write_text('command = ["false"]\nworkers = 2\n')
    job = start(str(file), "--ps", "0", "--", "echo", "--workers", "9", "x.toml")
    assert job.wait() == 0
    assert job.log("worker:1") == b"--workers 9 x.toml\n"


def test_behind_dashes_the_name_of_a_job_file_is_a_command(
    holdfast: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "job.toml"
    file.write_text('command = ["true"]\n')
    plan = holdfast("run", "--plan", "--", str(file), "--quiet")
    assert plan.returncode == 0
    assert f"{file} --quiet" in plan.stdout
    alone = holdfast("run", "--plan", "--", str(file))
    assert alone.returncode == 2
    assert f"leave `--` out: holdfast run {file}" in alone.stderr
    file.chmod(0o755)
    assert holdfast("run", "--plan", "--", str(file)).returncode == 0


def test_a_plan_is_printed_and_nothing_is_started(
    holdfast: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "job.toml"
    file.write_text('command = ["touch", "started"]\nworkers = 2\nrun_dir = "r"\n')
    by_file = holdfast("run", "--plan", "--chief", str(file))
    by_flags = holdfast(
        *("run", "--plan", "--chief", "--workers", "2", "--run-dir", "r", "--env", "TOKEN=s3cret"),
        *("--", "touch", "started"),
    )
    assert by_file.returncode == by_flags.returncode == 0
    assert "s3cret" not in by_flags.stdout
    assert same_plan(by_file.stdout) == same_plan(by_flags.stdout.replace("  TOKEN='…'\n", ""))
    assert [line for line in by_file.stdout.splitlines() if " at " in line] == [
        line for line in by_file.stdout.splitlines() if re.match(r"(chief|worker):\d at 127", line)
    ]
    assert by_file.stdout.count("touch started") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml"]


def same_plan(text: str) -> str:
    """Without ports and the name of the run, which differ every time."""
    return re.sub(r"127\.0\.0\.1:\d+|RUN_ID=\S+", "…", text)


def test_a_task_starts_with_a_clean_set_of_descriptors_and_signals(start: Start) -> None:
    """Also where we were started with signals ignored, as by nohup or in the background."""
    job = start(
        "--",
        "sh",
        "-c",
        "grep -E '^Sig(Blk|Ign)' /proc/self/status",
        front=("env", "--ignore-signal=HUP,INT,TERM,USR1", start_holdfast()),
    )
    assert job.wait() == 0
    masks = dict(line.split(b":\t") for line in job.log("worker:0").splitlines())
    # Signals 32 and 33 are the C library's own: nobody can set them through it.
    assert {name: int(mask, 16) & ~(3 << 31) for name, mask in masks.items()} == {
        b"SigBlk": 0,
        b"SigIgn": 0,
    }


def start_holdfast() -> str:
    return str(Path(sys.executable).with_name("holdfast"))


def test_the_path_given_to_the_tasks_is_where_their_command_is_looked_for(start: Start) -> None:
    tools = start.place / "tools"
    tools.mkdir()
    (tools / "train").write_text("#!/bin/sh\necho found in $PATH\n")
    (tools / "train").chmod(0o755)
    found = start("--env", f"PATH={tools}:/usr/bin:/bin", "--", "train")
    hidden = start("--env", "PATH=/usr/bin:/bin", "--", "train", env={"PATH": f"{tools}:/bin"})
    assert found.wait() == 0
    assert found.log("worker:0") == f"found in {tools}:/usr/bin:/bin\n".encode()
    assert hidden.wait() == 127
    (tools / "train").chmod(0o644)
    barred = start("--env", f"PATH={tools}:/usr/bin:/bin", "--", "train")
    assert barred.wait() == 126


def test_a_folder_that_shadows_our_modules_does_not_become_a_part_of_us(start: Start) -> None:
    for name in ("random", "select", "msgspec", "holdfast", "signal"):
        start.script(f"{name}.py", "raise SystemExit('not ours')\n")
    job = start("--", "echo", "fine")
    assert job.wait() == 0
    assert job.log("worker:0") == b"fine\n"
    job.nothing_is_left()


def test_many_tasks_need_no_larger_limit_and_do_not_inherit_ours(start: Start) -> None:
    """Every task costs us descriptors; the limit it runs under stays the user's own."""

    def limited() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))

    job = start("--workers", "40", "--", "sh", "-c", "ulimit -Sn", preexec_fn=limited)
    assert job.wait() == 0, job.err
    assert {job.log(f"worker:{index}") for index in range(40)} == {b"64\n"}
    job.nothing_is_left()


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_process_of_another_framework_hears_who_it_is(start: Start, framework: str) -> None:
    (start.place / "job.toml").write_text(
        f'launch_for = "{framework}"\nworkers = 3\n'
        f"command = {json.dumps([sys.executable, '-c', TELL])}\n"
    )
    for words in (
        ("--workers", "3", "--for", framework, *TELL_ALL),
        (str(start.place / "job.toml"),),
    ):
        job = start(*words)
        assert job.wait() == 0
        first = job.about["cluster"]["worker:0"]
        host, _, port = first.partition(":")
        expected = {
            "torch": {"MASTER_ADDR": host, "MASTER_PORT": port, "WORLD_SIZE": "3"},
            "jax": {"JAX_COORDINATOR_ADDRESS": first, "JAX_NUM_PROCESSES": "3"},
        }[framework]
        counted = {"torch": ("RANK", "LOCAL_RANK"), "jax": ("JAX_PROCESS_ID",)}[framework]
        for index in range(3):
            env = told(job, f"worker:{index}")["env"]
            own = {**expected, **dict.fromkeys(counted, str(index))}
            assert {name: env.get(name) for name in own} == own
            assert env["TF_CONFIG"], "it is watched as any other job"
        assert job.about["job"]["launch_for"] == framework
