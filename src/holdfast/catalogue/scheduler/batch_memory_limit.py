"""A batch system ended a job that used more memory than it had asked for.

## What you see
Slurm: `Detected 1 oom_kill event in StepId=...`, `task 3: Out Of Memory`, state `OUT_OF_MEMORY`.
LSF: `TERM_MEMLIMIT`. PBS: `job killed: mem ... exceeded limit`. Before it often only `Killed`.

## Why it happens
The job got a limit of memory with its allocation, and all its processes on one host together,
loader processes included, went beyond it.

## How to confirm it by hand
`sacct -j JOB -o JobID,State,ReqMem,MaxRSS,NodeList`; `seff JOB`.

## What to do
Ask for more (`--mem=64G` or `--mem-per-cpu=`), or use less: fewer loader processes, smaller shuffle
and prefetch buffers, fewer tasks on one host.

## When this accusation would be wrong
When the process that was ended was not one that the job needed: the step may have gone on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="oom-host",
    remedy=AskHuman(),
    where=(
        Pattern(r"srun: error: (?P<culprit>[\w.-]+: tasks? [\d,\[\]-]+): (?i:out of memory)"),
        Pattern(r"STEP \S+ ON (?P<culprit>[\w.-]+) CANCELLED"),
        Pattern(r"oom[-_]kill event\S* in (?:StepId=|step )(?P<culprit>\d[\w+]*(?:\.\w+)?)"),
    ),
    words=(
        Words(
            Pattern(
                r"(?i:(?:job|task|step|worker|container|process)\b[^\n]{0,60}exceed(?:ed|s|ing)"
                r"(?: its| the)?(?: (?:requested|allowed|physical))? memory (?:usage )?limit"
                r"|memory (?:usage )?limit (?:was |is )?(?:reached|exceeded)[^\n]{0,40}kill)"
            ),
            Weight.SIGN,
            unless=Pattern(r"YARN|Container killed|OOMKilled"),
        ),
        Words(
            Pattern(
                r"Detected \d+ oom[-_]kill event(?:\(s\)|s)? in (?:StepId=|step )"
                r"\d[\w+]*(?:\.\w+)?"
            )
        ),
        Words(
            Pattern(r"srun: error: (?P<culprit>[\w.-]+: tasks? [\d,\[\]-]+): (?i:out of memory)")
        ),
        Words(Pattern(r"(?i:exceeded [\w ]{0,24}memory limit).*being killed")),
        Words(Pattern(r"slurmstepd: error: Exceeded (?:job|step) memory limit"), Weight.SIGN),
        Words(Pattern(r"State\W+OUT_OF_MEMORY|\bOUT_OF_ME\+?\s")),
        Words(
            Pattern(r"killed by the cgroup out-of-memory handler|step tasks have been OOM Killed"),
            unless=Pattern(r"Detected \d+ oom"),
        ),
        Words(Pattern(r"TERM_MEMLIMIT: job killed")),
        Words(Pattern(r"PBS: job killed: (?:v|p|pv)?mem \S+ exceeded limit")),
        Words(Pattern(r'exceeds job hard limit "h_(?:vmem|rss|data)"')),
        Words(
            Pattern(
                r"(?i:job has gone over (?:its )?memory limit)|memory usage exceeded request_memory"
            )
        ),
    ),
    do=(
        "see what it used: sacct -j JOB -o JobID,State,ReqMem,MaxRSS,NodeList",
        "ask for more: sbatch --mem=64G, or use smaller buffers and fewer loader processes",
    ),
)
