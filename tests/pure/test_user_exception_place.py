"""Which line a person is sent to, where an exception was raised over another."""

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, TaskExited, TaskStarted, TracebackSeen

W0 = TaskId("worker", 0)
OPENS = "/usr/lib/python3.11/urllib/request.py:1351 do_open: raise URLError(err)"
FETCHES = "/srv/env/site-packages/keras/file_utils.py:399 get_file: raise Exception(text)"
OWN = "/home/user/train.py:5 rows: return keras.utils.get_file(name, origin=url)"


def seen(exception: str, *frames: str, follows: str = "", line: int = 1) -> TracebackSeen:
    return TracebackSeen(
        at_s=6.0 + line,
        host="host-a",
        task=W0,
        exception=exception,
        message="Name or service not known",
        frames=frames,
        line=line,
        offset=line * 100,
        follows=follows,
    )


def fix(*tracebacks: TracebackSeen) -> str:
    began = AttemptStarted(
        at_s=0.0, host="host-a", began_unix_s=1.0, tasks=("worker:0",), holdfast="1"
    )
    started = TaskStarted(at_s=0.1, host="host-a", task=W0, pid=7)
    exited = TaskExited(at_s=90.0, host="host-a", task=W0, exit_code=1)
    (finding,) = diagnose(Evidence([began, started, *tracebacks, exited])).findings
    return finding.proof.do[0]


def test_a_line_of_the_program_counts_wherever_in_the_chain_it_stands() -> None:
    root = seen("socket.gaierror", OPENS)
    over = seen("Exception", OWN, FETCHES, follows="context", line=9)
    assert fix(root, over) == "correct the program at /home/user/train.py:5"


def test_without_a_line_of_the_program_it_is_the_innermost_one() -> None:
    assert fix(seen("ValueError", FETCHES)) == f"correct the program at {FETCHES.partition(' ')[0]}"
