"""A program uses instructions that this host's processor does not have.

## What you see
`Illegal instruction (core dumped)`, often at the import already; `trap invalid opcode` in the
kernel's log; or TensorFlow's `was compiled to use AVX instructions, but these aren't available`.

## Why it happens
The program was built for a newer processor than this host has, or a virtual machine hides what
its processor can do. One old host among new ones fails alone.

## How to confirm it by hand
`grep -o -w -m1 -e avx -e avx2 -e avx512f /proc/cpuinfo`, on a host that works and on this one.

## What to do
Install a build for this processor, build it on this host, or keep the job off such hosts
(`sbatch --constraint=avx2`).

## When this accusation would be wrong
Some libraries end themselves with an illegal instruction when an assertion fails: the line before
it says so.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

OF_A_GPU = Pattern(r"CUDA|HIP error")

cause = Cause(
    family="segfault-illegal-instruction",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"^(?:\S+: )?(?:line \d+: )? *\d+ Illegal instruction\s+(?:\(core dumped\) )?"
                r"(?P<culprit>\S.*)$"
            ),
            of_speaker=True,
        ),
        Words(
            Pattern(
                r"(?:^|[:>|\]] ?)Illegal instruction(?:\s*\(core dumped\))?\s*$"
                r"|Fatal Python error: Illegal instruction|Signal: Illegal instruction \(4\)"
                r"|\b4 \(SIGILL\)|<Signals\.SIGILL|exited on signal 4 |SIGILL \(0x4\) at pc"
            ),
            unless=OF_A_GPU,
        ),
        Words(
            Pattern(r"srun: error: (?P<culprit>[\w.-]+: tasks? [\d,\[\]-]+): Illegal instruction")
        ),
        Words(
            Pattern(
                r"(?:(?P<host>[\w.-]+) kernel: [^\n]*)?"
                r"traps: (?P<culprit>[^ \[]+)\[\d+\] trap invalid opcode"
            )
        ),
        Words(Pattern(r"was compiled to use \w+ instructions, but these aren't available")),
    ),
    do=(
        "compare the processors: grep -o -w -m1 -e avx -e avx2 -e avx512f /proc/cpuinfo",
        "install a build for this processor, or keep the job off this host",
    ),
)
