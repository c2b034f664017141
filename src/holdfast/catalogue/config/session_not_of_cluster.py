"""A graph for a cluster was run in a session that knows only its own process.

## What you see
`Cannot assign a device ... was explicitly assigned to /job:ps/task:0 but available devices are
[ /job:localhost/replica:0/task:0/device:CPU:0 ]`.

## Why it happens
The session was made without the server's address: `tf.Session()` in place of
`tf.Session(server.target)`, a Supervisor or Estimator without `master`, or TF_CONFIG was not set
where the program started.

## How to confirm it by hand
`session.list_devices()`: it lists `/job:localhost` only.

## What to do
Give the session the address of its own server: `tf.compat.v1.Session(server.target)`, or
`MonitoredTrainingSession(master=server.target)`.

## When this accusation would be wrong
When the program was meant to run alone: then the device in its graph is the mistake.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

ALONE = Pattern(
    r"(?:specification '|assigned to )/job:(?:ps|worker|chief|master|evaluator)\S*"
    r".*available devices(?::| are \[) */job:localhost/"
)

cause = Cause(
    family="cluster-spec-mismatch",
    words=(
        Words(ALONE, says="the session of {who} knows no cluster, only its own process: {line}"),
    ),
    do=(
        "give the session its server's address: tf.compat.v1.Session(server.target)",
        "print TF_CONFIG where the program starts: it must name the cluster and this task",
    ),
    remedy=AskHuman(),
)
