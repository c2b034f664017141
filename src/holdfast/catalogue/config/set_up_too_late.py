"""A program set up its cluster or its devices too late, twice, or not at all.

## What you see
`Collective ops must be configured at program startup`, `Physical devices cannot be modified after
being initialized`, `tf.enable_eager_execution must be called at program startup`; in PyTorch
`Default process group has not been initialized`, `trying to initialize the default process group
twice`, `Cannot re-initialize CUDA in forked subprocess`; in JAX `must be called before any JAX
computations are executed`.

## Why it happens
What is chosen at the start of a process cannot be chosen again: any tensor made before it, also by
an import or by a parent that forked, starts the runtime with its defaults.

## How to confirm it by hand
Look for tensors, `list_logical_devices`, models or datasets that are made above the line of your
own in the traceback, also in the modules that it imports.

## What to do
Move the strategy, the device settings or the process group to the first lines of the program; start
children with `spawn` instead of `fork`.

## When this accusation would be wrong
When the program tries it, catches the exception and goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

OF_TENSORFLOW = Pattern(
    r"Error: (?:Collective ops must be configured at program startup"
    r"|(?:Physical|Virtual|Logical|Visible) devices cannot be modified after being initialized"
    r"|\S+ must be called at program startup|Cannot enable eager execution after "
    r"|(?:Intra|Inter) op parallelism cannot be modified after initialization"
    r"|Memory growth cannot differ between GPU devices)"
)
OF_OTHERS = Pattern(
    r"Error: (?:Default process group has not been initialized"
    r"|trying to initialize the default process group twice"
    r"|Cannot re-initialize CUDA in forked subprocess|context has already been set$"
    r"|jax\.distributed\.initialize\(\) must be called before"
    r"|Horovod has not been (?:initialized|properly initialized); use hvd\.init)"
)
SAYS = "{who} set up its runtime in the wrong order: {line}"

cause = Cause(
    family="python-exception-user-code",
    words=(Words(OF_TENSORFLOW, says=SAYS), Words(OF_OTHERS, says=SAYS)),
    do=(
        "make the strategy and set the devices in the first lines, before any tensor and import",
        "call init_process_group, hvd.init or jax.distributed.initialize once, before all else",
    ),
    remedy=AskHuman(),
)
