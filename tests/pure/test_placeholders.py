"""A task's own place in the words of its command, and braces that mean something else."""

import pytest

from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.errors import BadJob
from holdfast.model.job import Job
from holdfast.model.placeholders import COUNTED, NAMES, fill, fill_command, place_of
from holdfast.model.plan import plan_again, plan_tasks
from holdfast.model.submission import decode_plan, encode_plan

PS, CHIEF, EVALUATOR = (TaskId(role, 0) for role in ("ps", "chief", "evaluator"))
W0, W1 = (TaskId("worker", index) for index in range(2))
CLUSTER = ClusterSpec({PS: "a:1", CHIEF: "a:2", W0: "b:3", W1: "b:4"})
PLACE = place_of(W1, CLUSTER)
FLAGS = (
    *("python", "train.py", "--job_name={role}", "--task_index={index}"),
    *("--ps_hosts={ps_hosts}", "--worker_hosts", "{worker_hosts}"),
)


def test_every_placeholder_has_its_value() -> None:
    assert place_of(W1, CLUSTER) == {
        "role": "worker",
        "index": "1",
        "address": "b:4",
        "host": "b",
        "port": "4",
        "chief_hosts": "a:2",
        "worker_hosts": "b:3,b:4",
        "ps_hosts": "a:1",
        "world_size": "3",
        "num_processes": "3",
        "master_addr": "a",
        "master_port": "2",
        "coordinator_address": "a:2",
        "rank": "2",
        "process_id": "2",
        "local_rank": "1",
        "local_world_size": "2",
    }


def test_who_does_not_train_knows_the_others_and_has_no_number_among_them() -> None:
    place = place_of(PS, CLUSTER)
    assert (place["role"], place["world_size"], place["master_port"]) == ("ps", "3", "2")
    assert {name for name in NAMES if not place[name]} == set(COUNTED)


def test_a_list_of_nobody_and_an_address_of_nobody_are_empty() -> None:
    alone = ClusterSpec({W0: "[::1]:7"})
    assert place_of(W0, alone)["ps_hosts"] == ""
    assert place_of(W0, alone)["host"] == "::1"
    assert place_of(EVALUATOR, alone)["address"] == ""
    assert place_of(EVALUATOR, ClusterSpec({}))["world_size"] == ""


def test_flags_of_tensorflow_1() -> None:
    assert fill_command(FLAGS, PLACE) == (
        *("python", "train.py", "--job_name=worker", "--task_index=1"),
        *("--ps_hosts=a:1", "--worker_hosts", "b:3,b:4"),
    )


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("logs/{role}-{index}", "logs/worker-1"),
        ('{"rank":{rank}}', '{"rank":2}'),
        ('{"a":{"rank":{rank}}}', '{"a":{"rank":2}}'),
        ("é{index}ü{rank}", "é1ü2"),
        ("{{rank}}", "{rank}"),
        ("{{rol}}", "{rol}"),
    ],
)
def test_values_stand_anywhere_in_a_word_and_doubled_braces_are_a_literal(
    text: str, filled: str
) -> None:
    assert fill(text, PLACE) == filled


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{0}",
        "{ rank }",
        '{"lr": 0.1, "layers": {"n": 3}}',
        "{index: 3}",
        "{rank:02d}",
        "ckpt-{epoch}",
        "{{epoch}}",
        "${rank}",
        "${{rank}}",
        "{a,b}",
        "{import}",
        "rank}",
        "",
    ],
)
def test_other_braces_are_left_alone(text: str) -> None:
    assert fill(text, PLACE) == text
    assert Job(command=("train", text), ps=1, env={"A": text}).command == ("train", text)


@pytest.mark.parametrize(
    "words",
    [
        ("python", "-c", "print(f'{rank} {rol}')"),
        ("env", "A=b", "/usr/bin/python3.11", "-u", "-X", "dev", "-Wc", "-Ic", "f'{rank} {rol}'"),
    ],
)
def test_code_behind_python_c_is_left_alone_and_its_arguments_are_not(
    words: tuple[str, ...],
) -> None:
    assert fill_command((*words, "{rank}"), PLACE) == (*words, "2")
    assert Job(command=words, ps=1).command == words


@pytest.mark.parametrize(
    "words",
    [
        ("python", "-m", "train", "-c", "{rank}"),
        ("python", "train.py", "-c", "{rank}"),
        ("python", "-u", "{rank}"),
        ("sh", "-c", "exec train {rank}"),
        ("python", "-i"),
    ],
)
def test_an_option_of_the_program_itself_is_no_code(words: tuple[str, ...]) -> None:
    assert fill_command(words, PLACE)[-1] == words[-1].replace("{rank}", "2")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("rol", "role"),
        ("ROLE", "role"),
        ("worker_host", "worker_hosts"),
        ("task_index", "index"),
        ("job_name", "role"),
        ("worldsize", "world_size"),
    ],
)
def test_a_name_that_is_almost_right_is_refused(written: str, meant: str) -> None:
    for command, env in (
        (("train", f"--x={{{written}}}"), {}),
        (("train",), {"X": f"{{{written}}}"}),
    ):
        with pytest.raises(BadJob, match="is no placeholder") as raised:
            Job(command=command, env=env)
        assert raised.value.do == (
            f"did you mean {{{meant}}}? As a literal, write {{{{{written}}}}}"
        )


def test_a_number_among_those_who_train_is_refused_where_somebody_has_none() -> None:
    with pytest.raises(BadJob, match=r"\{rank\} counts those who train, and ps:0 does not"):
        Job(command=("train", "{rank}"), ps=1)
    with pytest.raises(BadJob, match="evaluator:0 does not"):
        Job(command=("train", "{process_id}"), evaluator=True)
    assert Job(command=("train", "{rank}", "{world_size}"), chief=True, workers=2)


def test_a_plan_is_filled_and_filled_anew_when_somebody_moves() -> None:
    job = Job(
        command=FLAGS,
        ps=1,
        workers=2,
        chief=True,
        env={"MASTER": "{coordinator_address}", "HOLDFAST_TASK": "{rol_}", "PLAIN": "x"},
    )
    plan = plan_tasks(job, CLUSTER, run_id="1", run_dir="/data/1")
    first = plan.tasks[0]
    assert "--job_name=ps" in first.command
    assert (first.env["MASTER"], first.env["HOLDFAST_TASK"]) == ("a:2", "ps:0")
    assert "train.py --job_name=worker --task_index=1" in plan.text()
    assert plan.of_attempt(first)[0] == ()
    assert decode_plan(encode_plan(plan)) == plan
    again = plan_again(plan, attempt=2, addresses={CHIEF: "c:9", PS: "c:8"})
    moved = again.tasks[0]
    assert "--ps_hosts=c:8" in moved.command
    command, env = again.of_attempt(moved)
    assert command == moved.command
    assert (env["MASTER"], moved.env["HOLDFAST_TASK"]) == ("c:9", "ps:0")
    assert not {"PLAIN", "HOLDFAST_TASK"} & set(env)


def test_a_command_without_placeholders_is_the_same_in_every_attempt() -> None:
    plan = plan_tasks(Job(command=("train", "{}")), CLUSTER, run_id="1", run_dir="/data/1")
    again = plan_again(plan, attempt=2, addresses={W0: "c:9"})
    assert again.of_attempt(again.tasks[0])[0] == ()
