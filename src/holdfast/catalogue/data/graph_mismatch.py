"""The program asks a graph for something that it does not hold, or a device that is not there.

## What you see
`The operation, 'x', does not exist in the graph`, `is not an element of this graph`, `must be
from the same graph as`, `Cannot colocate nodes`, `No OpKernel was registered`.

## Why it happens
A session runs one graph while the tensor was made in another; a name changed since the graph was
saved; tasks built different graphs; a device or a task was named that this cluster does not have.

## How to confirm it by hand
Print `[op.name for op in graph.get_operations()]` of the graph in use, and
`session.list_devices()`; compare them with the name in the message.

## What to do
Make and run the tensors in one `with graph.as_default()`, use names that the graph has, and name
only devices that exist, or set `allow_soft_placement=True`.

## When this accusation would be wrong
When the device is missing because its task is down: then the tasks' own logs tell why, and this
is its aftermath.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

ABSENT = Pattern(
    r"refers to (?:a Tensor|an Operation) which does not exist|does not exist in the graph"
    r"|is not an element of this graph|must be from the same graph as"
    r"|refers to an Operation not in the graph|is not (?:in|part of) the (?:current )?graph"
    r"|Tensor .* is not from the (?:current|same) graph|from a different graph"
    r"|Duplicate node name in graph|Requested return (?:tensor|node) .* not found in graph"
    r"|graph_def is invalid at node|was passed \w+ from \S+ incompatible with expected"
)
NODE = Pattern(
    r"Cannot assign a device (?:for operation|to node) '?(?P<culprit>[\w./-]+)'?.*"
    r"colocated with a group of nodes that (?:required|was required to be on) incompatible device"
)
JOBS = Pattern(
    r"Cannot merge devices with incompatible (?:jobs|tasks|replicas): '(?P<culprit>/job:[^\s']+)"
)
# These may also be the aftermath of something else.
BUILT_WRONG = Pattern(
    r"Session graph is empty|is out of scope and cannot be used here|Cannot colocate nodes "
    r"|Graph is finalized and cannot be modified|[Vv]ariable \S+ already exists, disallowed"
    r"|does not exist, or was not created with tf\.get_v|Trying to share variable "
    r"|only supports singleton tf\.Variables created on the first call"
    r"|tried to create variables on (?:a )?non-first call|There is no variable named"
)
NO_KERNEL = Pattern(
    r"No OpKernel was registered to support Op|No gradient (?:defined|registered) for op"
    r"|FunctionDef .*not found|Function \S+ is not defined\.|: Unknown input node"
)
SAYS = "{who} asked for what its graph or cluster does not have: {line}"

cause = Cause(
    family="graph-mismatch",
    words=(
        Words(ABSENT, says=SAYS),
        Words(NODE, says=SAYS, of_speaker=True),
        Words(JOBS, says=SAYS),
        Words(BUILT_WRONG, says=SAYS, weight=Weight.SIGN),
        Words(NO_KERNEL, says=SAYS, weight=Weight.SIGN),
    ),
    do=(
        "print the names in the graph: [op.name for op in graph.get_operations()]",
        "make and run all tensors in one graph; name only devices that the cluster has",
    ),
    remedy=AskHuman(),
)
