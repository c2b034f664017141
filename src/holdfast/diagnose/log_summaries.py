"""What launchers sum up at the end: who failed first, and how."""

from holdfast.model.cluster import INDEX_DIGITS_MAX, TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LogLine
from holdfast.model.pattern import Pattern

# torchrun: `Root Cause (first observed failure):`, and below it `rank      : 3 (local_rank: 3)`.
ROOT = Pattern(r"Root Cause \(first observed failure\)")
OF_RANK = Pattern(r"^\s*rank\s+: (\d+) \(local_rank")
# Horovod over MPI and gloo, and mpirun: `Process name: [[31,1],3]`, `Process 3 exit with status`.
OF_PROCESS = Pattern(
    r"Process name: \[\[\d+,\d+\],(\d+)\]|Process (\d+) exit with status code [1-9]"
)
# gcloud, on the hosts of a TPU.
OF_WORKER = Pattern(r"Command execution on worker (\d+) failed with exit status [1-9]")
# torchrun, before it sums up: of several hosts, nobody knows which one's.
OF_LOCAL_RANK = Pattern(r"failed \(exitcode: -?\d+\) local_rank: (\d+) \(pid")
ALSO_SUMMED_UP = (ROOT, OF_RANK, OF_PROCESS, OF_WORKER, OF_LOCAL_RANK)
SUMMARY_LINES_MAX = 8  # from its headline to the line that names the one


def failed_first(evidence: Evidence) -> TaskId | None:
    """Whom a launcher saw fail first, where it says so."""
    headlines: dict[str, int] = {}
    for line in evidence.of(LogLine):
        if ROOT.search(line.text):
            headlines[line.source] = line.line
        found = OF_RANK.search(line.text)
        near = line.line - headlines.get(line.source, -SUMMARY_LINES_MAX) <= SUMMARY_LINES_MAX
        if found and line.source in headlines and near:
            return TaskId("rank", int(found.group(1)[:INDEX_DIGITS_MAX]))
    for line in evidence.of(LogLine):
        if found := OF_PROCESS.search(line.text):
            number = found.group(1) or found.group(2)
            return TaskId("rank", int(number[:INDEX_DIGITS_MAX]))
        if found := OF_WORKER.search(line.text):
            return TaskId("worker", int(found.group(1)[:INDEX_DIGITS_MAX]))
        if found := OF_LOCAL_RANK.search(line.text):
            return TaskId("local_rank", int(found.group(1)[:INDEX_DIGITS_MAX]))
    return None
