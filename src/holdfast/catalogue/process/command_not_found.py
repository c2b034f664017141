"""The command of a task, or the script it should run, does not exist or cannot be executed.

## What you see
The job ends before anything has started: no log, no traceback. With Python in between:
`can't open file 'train.py': [Errno 2] No such file or directory` and exit code 2. With a
shell in between: exit code 127 (not found) or 126 (not executable).

## Why it happens
A typo, a relative path from another directory, an environment that is not active, a script
without the executable bit or without a `#!` line, a program for another processor.

## How to confirm it by hand
`command -v PROGRAM`, `ls -l SCRIPT`, in the directory where `holdfast run` was called.

## What to do
Give the full path, activate the environment first, or `chmod +x` the script.

## When this accusation would be wrong
When the program itself exits with 126 or 127 for a reason of its own; it is accused only if
it also said `not found` or `No such file`.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, TaskNotStarted
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

NO_SCRIPT = Pattern(
    r"can't open file '([^']*)': \[Errno 2\]|can't find '__main__' module in '([^']*)'"
)
SHELL_SAYS = Pattern(r"(?i)not found|no such file or directory|permission denied|exec format error")
SHELL_CODES = frozenset({126, 127})
NOT_FOUND_CODE, NOT_EXECUTABLE_CODE = 127, 126

REASONS = {
    "ENOENT": ("does not exist", "give the full path, or activate the environment it is in"),
    "EACCES": ("may not be executed", "make it executable: chmod +x, or put `python` in front"),
    "ENOEXEC": ("is not a program", "put its interpreter in front, such as `python`"),
    "ENOTDIR": ("has a path through something that is no directory", "correct the path"),
    "E2BIG": ("has more arguments and environment than the kernel allows", "shorten them"),
    "ENOMEM": ("could not be started for lack of memory", "free memory on this host"),
    "EAGAIN": ("could not be started: too many processes", "raise the limit: ulimit -u"),
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    for fact in evidence.of(TaskNotStarted):
        what, do = REASONS.get(
            fact.errno_name, (f"could not be executed ({fact.errno_name})", "check the command")
        )
        found = fact.errno_name in {"ENOENT", "ENOTDIR"}
        yield Proof(
            facts=(fact,),
            culprit=fact.task,
            says=f"{fact.task} could not be started: `{fact.command}` {what}",
            do=(do,),
            exit_code=NOT_FOUND_CODE if found else NOT_EXECUTABLE_CODE,
        )
    for failure in evidence.failures():
        line = next(evidence.lines(NO_SCRIPT, failure.task), None)
        if line and evidence.ended_over(failure, NO_SCRIPT):
            yield Proof(
                facts=(line, failure),
                culprit=failure.task,
                says=f"{failure.task} could not start: {line.text[-200:]}",
                do=("correct the path of the script; it is relative to where you called",),
            )
        for words in evidence.of(LastWords, failure.task):
            said = words.lines[-1]
            if failure.exit_code in SHELL_CODES and SHELL_SAYS.search(said):
                yield Proof(
                    facts=(words, failure),
                    culprit=failure.task,
                    confidence=Confidence.HIGH,
                    says=f"{failure.task} could not execute its command: {said[:200]}",
                    do=("correct the command inside the script",),
                    exit_code=failure.exit_code,
                )


cause = Cause(
    family="missing-library",
    detect=detect,
    hears=(NO_SCRIPT,),
    words=(
        Words(
            Pattern(
                r"can't open file '(?P<culprit>[^']*)': \[Errno 2\]|can't find '__main__' module"
            )
        ),
        Words(
            Pattern(r"(?:slurmstepd: error: )?execve?\(?\)?:? (?P<culprit>\S+): No such file or")
        ),
        Words(Pattern(r'exec: "(?P<culprit>[^"]+)": executable file not found')),
        Words(
            Pattern(
                r"unable to find the specified executable|(?:could not access|unable to launch)"
                r"[^\n]*executable"
            )
        ),
        Words(
            Pattern(
                r"^\S+: (?:line \d+: |\d+: )?(?P<culprit>python\S*|mpirun|mpiexec|orted"
                r"|horovodrun|torchrun|deepspeed|accelerate|srun|sbatch|singularity|apptainer"
                r"|docker): (?:command )?not found"
            )
        ),
        Words(
            Pattern(
                r"^(?:\S+: )?(?:\d+: )?(?P<culprit>orted|ninja|nvcc|gcc): (?:command )?not found"
            )
        ),
        Words(Pattern(r"env: \W{0,3}(?P<culprit>python[\d.]*)\W+: No such file or directory")),
        Words(
            Pattern(r"line \d+: (?P<culprit>[\w./-]+): command not found"),
            Weight.SIGN,
            unless=Pattern(r": (?:module|ml|nvidia-smi|conda|tput|git|deactivate|ulimit|free): "),
        ),
        Words(Pattern(r"'(?P<culprit>\S+)' is not recognized as an internal or external command")),
        Words(Pattern(r"^\S+: command not found: (?P<culprit>\S+)"), Weight.SIGN),
        Words(Pattern(r"cannot execute binary file: Exec format error|[Ee]xec format error")),
    ),
    do=(
        "give the full path, or activate the environment it is in",
        "make it executable: chmod +x, or put `python` in front",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"missing-library"}),
    preview=False,
)
