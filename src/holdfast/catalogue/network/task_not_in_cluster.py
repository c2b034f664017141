"""A graph wants a task whose devices the cluster does not have: it is down, or was never there.

## What you see
`Cannot assign a device ... was explicitly assigned to /job:worker/task:2 but available devices are
[ /job:worker/replica:0/task:0/device:CPU:0, ... ]`: other tasks are listed, that one is not.

## Why it happens
The server of that task had died, or had not started, when the session learnt which devices there
are; or a device filter hides it.

## How to confirm it by hand
`python -c "import tensorflow as tf;
print(tf.compat.v1.Session('grpc://HOST:PORT').list_devices())"`, and the last lines of that task's
own log.

## What to do
See how that task ended, correct that, and start it before the session is made.

## When this accusation would be wrong
When the cluster was never meant to have that task: then the program counts one task too many.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Weight, Words

ABSENT = Pattern(
    r"(?:specification '|assigned to )(?P<culprit>/job:[a-z_]+/(?:replica:\d+/)?task:\d+)"
    r"(?:/(?:device:)?(?:cpu|CPU):\d+)?'? (?:because no devices matching.*available devices:"
    r"|but available devices are \[) */job:[a-z_]+/"
)
# One of the two knows nothing of a cluster: then it is no task that has left it.
ALONE = Pattern(r"available devices(?::| are \[) *(?:/job:localhost/)|assigned to /job:localhost/")

cause = Cause(
    family="peer-restarted",
    words=(
        Words(
            ABSENT,
            Weight.SIGN,
            unless=ALONE,
            says="{who} is not in the cluster that the session sees: {line}",
        ),
    ),
    do=(
        "look at how that task ended: its exit code, and its last lines",
        "start it before the session is made, and see that device_filters name it",
    ),
    remedy=Relaunch(),
)
