"""A program may not read, write or make a file.

## What you see
Python's `PermissionError: [Errno 13] Permission denied: 'PATH'`, TensorFlow's
`PermissionDeniedError: PATH; Permission denied`, HDFS' `AccessControlException: Permission denied:
user=...`, or `Read-only file system`.

## Why it happens
The path belongs to somebody else, often to root from an earlier run in a container; the task runs
as another user on this host; or the file system is mounted read-only.

## How to confirm it by hand
As the task's user on its host: `id; ls -ld PATH`, `findmnt -T PATH`.

## What to do
Give the user the right to write (`chown`, `chmod`, `hdfs dfs -chown`), or choose another directory.

## When this accusation would be wrong
A cache that cannot be written (matplotlib, TensorFlow Hub, the kernel cache of CUDA) is skipped:
the program goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

OF_SSH = Pattern(r"Permission denied \((?:publickey|password|gssapi|keyboard)|(?i:warning)")

cause = Cause(
    family="auth-permission",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"\b(?:EACCES|EPERM|EROFS): "), Weight.SIGN),
        Words(
            Pattern(
                r"(?:\[Errno 13\] Permission denied|\[Errno 1\] Operation not permitted"
                r"|\[Errno 30\] Read-only file system): b?['\"](?P<culprit>[^'\"]+)"
            ),
            unless=OF_SSH,
        ),
        Words(
            Pattern(r"(?P<culprit>/[^\s;:'\"]*); (?:Permission denied|Read-only file system)"),
            unless=OF_SSH,
        ),
        Words(
            Pattern(
                r"Permission denied: user=[^\n]*"
                r'inode="(?P<culprit>[^"]+)"'
            )
        ),
        Words(
            Pattern(r"(?:PermissionDeniedError|PermissionError): |AccessControlException: "),
            unless=Pattern(
                r"; (?:Permission denied|Read-only)|: b?['\"]|inode=|(?i:warning)|HTTP "
            ),
        ),
        Words(
            Pattern(r"line \d+: (?P<culprit>[^:]+): (?:Permission denied|Read-only file system)"),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"(?:cannot|can't|could not|[Uu]nable to|[Ff]ailed to) (?:create|open|write|make"
                r"|mkdir|access|save|remove)[^\n]*(?:Permission denied|Read-only file system)"
            ),
            Weight.SIGN,
            unless=Pattern(r"\[Errno \d+\]|(?i:warning)|; Permission"),
        ),
    ),
    do=(
        "as the task's user, on its host: id; ls -ld PATH; findmnt -T PATH",
        "give it the right to write: chown or chmod, or choose another directory",
    ),
)
