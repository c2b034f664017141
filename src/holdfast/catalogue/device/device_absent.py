"""A graph names a device that the cluster does not have.

## What you see
`Cannot assign a device for operation ... was explicitly assigned to /device:GPU:3 but available
devices are [ /job:localhost/replica:0/task:0/device:CPU:0 ]`.

## Why it happens
The program names a GPU by its number on a host that has fewer of them, or none that TensorFlow can
use; or the task that had the device is down.

## How to confirm it by hand
`python -c "import tensorflow as tf; print(tf.config.list_physical_devices())"` on that host.

## What to do
Name only devices that exist, or let TensorFlow choose: `allow_soft_placement=True`,
`tf.config.set_soft_device_placement(True)`.

## When this accusation would be wrong
When the device is missing because its task is down: then the tasks' own logs tell why, and this
is its aftermath.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

DEVICE = Pattern(
    r"Cannot assign a device (?:for operation|to node)"
    r"|Could not satisfy (?:explicit )?device specification"
    r"|was explicitly assigned to \S+ but available devices are"
)
# A program that made its graph before it joined the cluster.
OF_NO_CLUSTER = Pattern(
    r"assigned to /job:localhost/\S* but available devices are \[ */job:[a-km-z]"
)
# A whole task is missing, or two nodes exclude each other: other causes know that.
OF_A_TASK = Pattern(
    r"(?:specification '|assigned to )/job:[a-z_]+/(?:replica:\d+/)?task:\d+"
    r"(?:/(?:device:)?(?:cpu|CPU):\d+)?'? (?:because no devices matching|but available devices)"
    r"|colocated with a group of nodes|/job:(?:ps|worker).*available devices.*/job:localhost/"
)

cause = Cause(
    family="graph-mismatch",
    words=(
        Words(
            DEVICE,
            Weight.SYMPTOM,
            unless=OF_A_TASK,
            blames_nobody=True,
            says="the graph names a device that the cluster does not have: {line}",
        ),
        Words(
            OF_NO_CLUSTER,
            Weight.SIGN,
            blames_nobody=True,
            says="the graph was made for a program without a cluster: {line}",
        ),
    ),
    do=(
        "list what there is: print(tf.config.list_physical_devices()) in that task",
        "name only these devices, or set allow_soft_placement=True",
    ),
    remedy=AskHuman(),
    echo=True,
)
