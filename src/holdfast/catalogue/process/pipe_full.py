"""A program waits to write into a pipe that nobody empties.

## What you see
Everything stands still, with no error. A stack of the process ends in `write`, the kernel's in
`pipe_write`. A program whose output does not block says
`write could not complete without blocking`.

## Why it happens
A parent started the program with `stdout=PIPE` or `stderr=PIPE` and does not read; a pipe holds
64 KiB, then the writer sleeps until somebody reads.

## How to confirm it by hand
`cat /proc/PID/wchan` says `pipe_write`; `ls -l /proc/PID/fd/2` shows a pipe.

## What to do
In the parent: `communicate()`, a thread that reads, or a file instead of a pipe
(`stderr=open("worker.err", "w")`).

## When this accusation would be wrong
When the reader is only slow, or itself stopped: then the reader is the one to look at.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="stderr-pipe-block",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"write could not complete without blocking")),
        Words(Pattern(r"(?:\] |^ *)(?:anon_)?pipe_(?:write|wait(?:_writable)?)\+0x")),
        Words(Pattern(r"wchan\W{1,4}(?:anon_)?pipe_w(?:rite|ait)")),
        Words(Pattern(r"__(?:libc_)?write(?:_nocancel)? \(fd=[12],"), Weight.SIGN),
        # strace, of a process that hangs in it.
        Words(Pattern(r'^write\([12], "(?:[^"\\]|\\.)*(?:"(?:\.\.\.)?, \d+)?$'), Weight.SIGN),
        Words(Pattern(r"(?:stdout|stderr|stdout/stderr) pipe (?:buffer )?(?:is|was) full")),
    ),
    do=(
        "see whether it waits to write: cat /proc/PID/wchan; ls -l /proc/PID/fd/1 /proc/PID/fd/2",
        "in the parent use communicate(), or a file instead of subprocess.PIPE",
    ),
)
