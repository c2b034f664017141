"""Whose log it is comes from names and from what a program says of itself, or stays open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.cluster import TaskId
from holdfast.model.log_names import host_in_name, stem, stream_in_name, task_in_name
from holdfast.model.log_origin import MEMBERS_MAX, clues_in, cluster_in, members_of, told_by

CLUSTER = "{'ps': ['host-a:2222'], 'worker': ['host-b:2222', u'host-c:2223']}"


def told(*lines: str) -> str:
    clues = [clue for line in lines for clue in clues_in(line)]
    return str(told_by(clues, members_of(clues)))


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("worker-1.err", "worker:1"),
        ("ps0.log", "ps:0"),
        ("job_worker_3.txt", "worker:3"),
        ("rank_7.out", "rank:7"),
        ("slurm-123_4.out", "task:4"),
        ("tf-job-worker-2", "worker:2"),
        ("tf-job-worker-2-x7f9a.log", "worker:2"),
        ("logs/rank3/stderr.log", "rank:3"),
        ("worker-1/ps-0.log", "ps:0"),
        ("chief.log", "chief:0"),
        ("evaluator.err", "evaluator:0"),
        ("process_3.log", "jax_worker:3"),
        ("C:\\logs\\worker-5.log", "worker:5"),
        ("host-a.log", "None"),
        ("worker.log", "None"),
        ("steps1.log", "None"),
        ("worker-12345678.log", "None"),
        ("", "None"),
    ],
)
def test_a_name_tells_the_task(name: str, task: str) -> None:
    assert str(task_in_name(name)) == task


def test_a_name_tells_the_stream_the_host_and_what_belongs_together() -> None:
    assert [stream_in_name(n) for n in ("a.err", "a/stdout", "b.stderr.log", "outer.log")] == [
        "err",
        "out",
        "err",
        "",
    ]
    assert {stem(n) for n in ("d/w-1.err", "d/w-1.out", "d/w-1.stdout.log.gz", "d/w-1.log.2")} == {
        "d/w-1"
    }
    assert [host_in_name(n) for n in ("host-a.log", "x/gpu07.err", "train.log")] == [
        "host-a",
        "gpu07",
        "",
    ]


@pytest.mark.parametrize(
    ("line", "task"),
    [
        (
            'TF_CONFIG={"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
            "worker:1",
        ),
        ('{\\"cluster\\": {}, \\"task\\": {\\"type\\": \\"ps\\", \\"index\\": \\"0\\"}}', "ps:0"),
        ("MultiWorkerMirroredStrategy with task_type = 'worker', task_id = 2, num", "worker:2"),
        (
            "'_cluster_spec': ClusterSpec({}), '_task_type': 'evaluator', '_task_id': 0",
            "evaluator:0",
        ),
        ("'_cluster_spec': ClusterSpec({}), '_task_type': 'worker', '_task_id': 0", "None"),
        ("python train.py --job_name=worker --task_index=1", "worker:1"),
        ("python train.py -job_name ps --task_index 0", "ps:0"),
        ("python train.py --job_name=worker", "None"),
        ("Created device /job:worker/replica:0/task:1/device:GPU:0 with 5 MB", "worker:1"),
        ("Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0", "None"),
        ("| distributed init (rank 3): env://", "rank:3"),
        ("initializing ddp: GLOBAL_RANK: 5, MEMBER: 6/8", "rank:5"),
        ("I am rank 3 of 8", "rank:3"),
        ("JAX process: 2", "jax_worker:2"),
        ("/job:worker/replica:0/task:1 has connected to coordination service.", "None"),
        ('"cluster": {}, "task": {"type": "worker"}', "None"),
        ('"cluster": {}, "task": {"type": "_", "index": 0}', "None"),
        ("task_type = '_', task_id = 2", "None"),
        ("--job_name=_ --task_index=2", "None"),
        ("Created device /job:_/replica:0/task:1/", "None"),
        ("rank 3333333 of 8", "None"),
    ],
)
def test_a_program_tells_who_it_is(line: str, task: str) -> None:
    assert told(line) == task


def test_a_server_is_the_member_with_its_address_or_its_port() -> None:
    started = "Started server with target: grpc://"
    assert told(f"ClusterSpec({CLUSTER})", f"{started}host-b:2222") == "worker:0"
    assert told(f"ClusterSpec({CLUSTER})", f"{started}localhost:2223") == "worker:1"
    assert told(f"ClusterSpec({CLUSTER})", f"{started}localhost:2222") == "None", "two have it"
    assert told(f"{started}localhost:2222") == "None"


def test_who_is_at_localhost_in_the_list_of_channels_wrote_it() -> None:
    workers = (
        "Initialize GrpcChannelCache for job worker -> {0 -> host-b:2222, 1 -> localhost:2222}"
    )
    servers = "Initialize GrpcChannelCache for job ps -> {0 -> host-a:2222}"
    assert told(servers, workers) == "worker:1"
    assert told(workers, "Started server with target: grpc://localhost:2222") == "worker:1"
    assert told("Initialize GrpcChannelCache for job worker -> {0 -> localhost:2222}") == "None"


def test_a_log_of_several_tasks_is_nobodys() -> None:
    flags = "--job_name=worker --task_index="
    assert told(f"{flags}0", f"{flags}1") == "None"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{'a': ['host-a:1']}",
        "{'worker': ['no address']}",
        "{'worker': [" + ", ".join(["'h:1'"] * (MEMBERS_MAX + 1)) + "]}",
    ],
)
def test_what_is_no_cluster(text: str) -> None:
    assert cluster_in(text) == {}


def test_a_cluster_is_kept_as_written() -> None:
    assert cluster_in("x {'worker': [' host-a:1', 'host-b:2']}") == {
        "worker": {"0": " host-a:1", "1": "host-b:2"}
    }
    assert members_of([]) == {}
    clues = list(clues_in("{'worker': ['host-a:1'], '_': ['host-b:2']}"))
    assert members_of(clues) == {TaskId("worker", 0): "host-a:1"}


@given(st.text(max_size=200))
def test_no_name_and_no_line_is_too_strange(text: str) -> None:
    plain = text.encode("utf-8", "replace").decode()
    task_in_name(plain)
    stem(plain)
    stream_in_name(plain)
    for line in (
        plain,
        f"TF_CONFIG {{'cluster': {plain}, 'task': {plain}}}",
        f"--job_name={plain}",
    ):
        list(clues_in(line))
