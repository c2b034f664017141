"""The JSON that machines read: the architecture page's schema, and nothing unsafe in it."""

import json
from dataclasses import dataclass, replace

import pytest

from holdfast.model import facts
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Diagnosis, Finding, Verdict
from holdfast.views.fact_text import fact_text
from holdfast.views.report import EVIDENCE_MAX, TEXT_CHARACTERS_MAX, finding_line, report

WORKER = TaskId("worker", 2)


def log_name(task: TaskId, attempt: int, stream: str) -> str:
    return f"logs/{task.role}-{task.index}.{attempt}.{stream}"


def test_a_report_has_the_published_shape(sick: Diagnosis, evidence: Evidence) -> None:
    made = report(sick, evidence, log_name=log_name)
    assert made["schema"] == "holdfast.report/1"
    assert made["verdict"] == "sick"
    root = made["findings"][0]
    assert list(root) == [
        *("cause", "family", "severity", "culprit", "host", "confidence", "since", "says", "do"),
        *("evidence", "echoes"),
    ]
    assert root["cause"] == "cgroup-out-of-memory"
    assert (root["culprit"], root["host"]) == ("ps:0", "gpu-07")
    assert (root["severity"], root["confidence"]) == ("error", "certain")
    assert root["since"] == "2026-11-15T18:02:58.050Z"
    assert root["echoes"][0] == {"task": "worker:0", "cause": "peer-gone", "says": "waits for ps:0"}
    cgroup = "/holdfast.slice/mnist/ps-0"
    assert [entry["text"] for entry in root["evidence"]] == [
        f"kernel killed pid 4121 (python) at 19.0 GiB: memory cgroup {cgroup}",
        f"kernel killed for memory once in cgroup {cgroup}, whose limit is 18.0 GiB",
        "ended on SIGKILL (signal 9)",
    ]
    assert all(entry["file"] is entry["line"] is None for entry in root["evidence"])
    assert made["broken"] == {"grpc-odd": "KeyError('x')"}
    assert json.loads(json.dumps(made)) == made


def test_log_lines_are_cited_redacted_and_bounded(sick: Diagnosis, evidence: Evidence) -> None:
    warning = report(sick, evidence, log_name=log_name)["findings"][1]
    assert len(warning["evidence"]) == EVIDENCE_MAX
    assert warning["culprit"] is None
    assert warning["evidence"][1] == {
        "task": "worker:0",
        "file": "logs/worker-0.1.err",
        "line": 120,
        "text": "master.cc:268] CreateSession still waiting WANDB_API_KEY=«redacted:secret»",
        "at": "2026-11-15T18:02:59.000Z",
    }


def test_last_words_are_kept_for_failures_without_a_cause(
    unexplained: tuple[Diagnosis, Evidence],
) -> None:
    diagnosis, seen = unexplained
    made = report(diagnosis, seen, log_name=log_name)
    words = made["last_words"]["worker:1"]
    assert words[:2] == ["Traceback (most", '  File "train.py"']
    assert words[2].startswith("token=«redacted:secret» giving up!!!")
    assert len(words[2]) == TEXT_CHARACTERS_MAX
    assert made["logs"] == {"worker:1": ["logs/worker-1.1.err", "logs/worker-1.1.out"]}


def test_a_private_key_over_many_lines_is_redacted(
    unexplained: tuple[Diagnosis, Evidence],
) -> None:
    diagnosis, seen = unexplained
    pem = ("a", "-----BEGIN PRIVATE KEY-----", "MIIsecret", "-----END PRIVATE KEY-----", "b")
    others = [fact for fact in seen.facts if not isinstance(fact, facts.LastWords)]
    words = facts.LastWords(at_s=9.0, host="h", task=TaskId("worker", 1), lines=pem)
    made = report(diagnosis, Evidence([*others, words]), log_name=log_name)
    assert made["last_words"]["worker:1"] == ["a", "«redacted:private-key»", "b"]


def test_without_a_beginning_no_time_is_invented(out_of_memory: Finding) -> None:
    diagnosis = Diagnosis(verdict=Verdict.SICK, findings=(out_of_memory,), broken={})
    made = report(diagnosis, Evidence(out_of_memory.proof.facts), log_name=log_name)
    assert made["findings"][0]["since"] is None


def test_strangers_text_cannot_leave_its_field(out_of_memory: Finding, evidence: Evidence) -> None:
    evil = replace(out_of_memory.proof, says="a\x1b[2J\nb\u202e password=hunter2", do=("x\x07",))
    line = finding_line(replace(out_of_memory, proof=evil), evidence, log_name=log_name)
    assert b"\n" not in line
    made = json.loads(line)
    assert made["says"] == "a\\nb\\u202e password=«redacted:secret»"
    assert made["do"] == ["x\\x07"]


FACTS = [
    (facts.TaskExited(at_s=0, host="h", signal=9), "ended on SIGKILL (signal 9)"),
    (
        facts.TaskExited(at_s=0, host="h", signal=11, core_dumped=True),
        "ended on SIGSEGV (signal 11), core dumped",
    ),
    (facts.TaskExited(at_s=0, host="h", signal=63), "ended on signal 63"),
    (facts.TaskExited(at_s=0, host="h", exit_code=3), "ended with exit code 3"),
    (
        facts.KernelKilledForMemory(
            at_s=0, host="h", pid=123, process="python", rss_bytes=1288490189, cgroup="/x"
        ),
        "kernel killed pid 123 (python) at 1.2 GiB: memory cgroup /x",
    ),
    (
        facts.PortHeld(at_s=0, host="h", port=2222, pid=5, command="nginx", user="root"),
        "port 2222 is held by pid 5 `nginx` (user root)",
    ),
    (
        facts.PortHeld(at_s=0, host="h", port=2222, holder=WORKER),
        "port 2222 is held by worker:2 of this same job",
    ),
    (
        facts.PortHeld(at_s=0, host="h", port=2222, user="ann"),
        "port 2222 is held by a process that we may not see (user ann)",
    ),
    (
        facts.DiskMeasured(
            at_s=0, host="h", path="/d", free_bytes=0, total_bytes=1 << 30, free_inodes=1234
        ),
        "0 bytes of 1.0 GiB free in /d, 1,234 inodes free",
    ),
    (
        facts.TracebackSeen(
            at_s=0, host="h", exception="ValueError", message="no\nway", frames=("a.py:1 f",)
        ),
        "ValueError: no (raised at a.py:1 f)",
    ),
    (facts.LastWords(at_s=0, host="h", lines=("a", "bye", " ")), "its last words: bye"),
    (facts.LastWords(at_s=0, host="h", lines=()), "it left no last words"),
    (
        facts.LimitSeen(at_s=0, host="h", limit="open files", soft=1024, used=1020),
        "open files: 1,020 of 1,024 allowed",
    ),
    (
        facts.TaskNotStarted(at_s=0, host="h", command="pyton", errno_name="ENOENT"),
        "could not execute `pyton`: ENOENT",
    ),
    (
        facts.SignalSent(at_s=0, host="h", signal=15, why="the job ends"),
        "we sent SIGTERM (signal 15): the job ends",
    ),
]


@pytest.mark.parametrize(("fact", "says"), FACTS)
def test_facts_speak(fact: facts.Fact, says: str) -> None:
    assert fact_text(fact) == says


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkewed(facts.Fact):
    """A kind of fact that nobody has written a sentence for."""

    skew_s: float
    source: str


def test_a_kind_of_fact_without_a_sentence_still_speaks() -> None:
    fact = ClockSkewed(at_s=0, host="h", skew_s=2.5, source="ntp")
    assert fact_text(fact) == "clock skewed: skew_s 2.5, source ntp"
