"""A launcher could not log in to another host with ssh.

## What you see
`Permission denied (publickey,password)`, `Host key verification failed`, or `UNPROTECTED PRIVATE
KEY FILE` with `Permissions 0640 for '...' are too open`; then mpirun or horovodrun gives up.

## Why it happens
The key is not known on the other host, belongs to another user, or may be read by others, in which
case ssh does not use it; or the host's own key is new or has changed.

## How to confirm it by hand
`ssh -o BatchMode=yes HOST true; echo $?` from the host that starts the job, as the same user.

## What to do
`ssh-copy-id HOST`; `chmod 600 KEY`; for host keys `ssh-keyscan HOST >> ~/.ssh/known_hosts`. In
Kubernetes mount the secret with `defaultMode: 0600`.

## When this accusation would be wrong
When the launcher tries several ways to reach a host and another one worked.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="auth-permission",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"Permissions \d+ for '(?P<culprit>[^']+)' are too open")),
        Words(
            Pattern(
                r"(?:\w+@)?(?P<culprit>[\w.-]+): Permission denied"
                r" \((?:publickey|password|gssapi|key)"
            )
        ),
        Words(
            Pattern(r"Permission denied \((?:publickey|password|gssapi|keyboard)"),
            unless=Pattern(r"[\w.-]+: Permission denied \("),
        ),
        Words(Pattern(r"Host key verification failed|Permission denied, please try again")),
        Words(Pattern(r"REMOTE HOST IDENTIFICATION HAS CHANGED")),
        Words(Pattern(r"Bad owner or permissions on (?P<culprit>\S+)|bad ownership or modes for")),
    ),
    do=(
        "try it by hand: ssh -o BatchMode=yes HOST true",
        "make the key private: chmod 600 KEY; make it known: ssh-copy-id HOST",
    ),
)
