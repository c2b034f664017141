"""The checkpoint was written by another model than the one that restores it.

## What you see
`Key ... not found in checkpoint`, `Restoring from checkpoint failed`, `Received incompatible
tensor with shape`, `tensor_name = ...; expected dtype`, in Keras `objects could not be loaded`,
in PyTorch `Missing key(s) in state_dict` or `size mismatch for`.

## Why it happens
The code, a flag, the number of classes or the names of layers changed since it was saved; one
folder holds the checkpoints of two experiments; one task builds another graph than the chief.

## How to confirm it by hand
`tf.train.list_variables('CHECKPOINT')` against `[(v.name, v.shape) for v in model.variables]`.

## What to do
Restore with the code and flags that saved it, or train in an empty folder. To take over only the
parts that fit, name them: `expect_partial()`, `strict=False`.

## When this accusation would be wrong
When the program restores what fits, says what does not, and goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

KEY = Pattern(
    r"Key \S+ not found in checkpoint|Tensor name \S+ not found in checkpoint"
    r"|Restoring from checkpoint failed\. This is most likely due to a"
    r"|not bound to checkpointed values|Error: .*Unresolved object in checkpoint"
    r"|Missing key\(s\) in state_dict|Unexpected key\(s\) in state_dict"
    r"|KeyError: .*(?:checkpoint|state_dict)|Error\(s\) in loading state_dict for"
    r"|Checkpoint is missing variable|is not available in checkpoint.*Error"
    r"|[Cc]heckpoint .*(?:is not compatible|incompatible|does not match)\b.*(?:model|graph"
    r"|network)"
    r"|target dict keys and state dict keys do not match"
    r"|No variables to restore|contains? no variable named .*checkpoint"
)
SIZE = Pattern(
    r"Received incompatible tensor with shape .* when attempting to restore"
    r"|tensor_name = \S+; (?:expected dtype|shape in shape_and_slice)"
    r"|objects could not be loaded\. Example error"
    r"|shape in shape_and_slice spec .* does not match the shape stored in checkpoint"
    r"|(?:Layer|Weight) .*expected \d+ (?:weights?|variables?), but (?:received|the saved)"
    r"|You are trying to load a weight file containing \d+ layers into a model with"
    r"|weight .* has shape .*, but the saved weight has shape"
    r"|Initializer expected to generate shape .* but got shape"
    r"|Expected to restore a tensor of type \w+, got a tensor of type"
    r"|Layer count mismatch when loading weights from file|loaded state dict (?:contains|has)"
    r"|[Ss]ize mismatch between saved .* and current"
    r"|checkpoint has \S+, (?:but )?(?:the )?model has"
    r"|expects? \d+ weights?\b[^\n]*but the saved weights have|Missing key in checkpoint"
    r"|(?:not|isn't) (?:present|found) in (?:the )?(?:checkpoint|state_dict|restored tree)"
    r"|User-provided restore item and on-disk value metadata tree structures do not match"
    r"|Requested shape: .* is not compatible with the stored shape"
    r"|[Cc]heckpoint (?:was saved|saved) with (?:a )?different (?:world|model|tensor|pipeline)"
    r"|Shape mismatch in layer #\d+ .* for weight"
    r"|Cannot assign value to variable .*: Shape mismatch"
)
IN_A_RESTORE = Pattern(
    r"Assign requires shapes of both tensors to match(?s:.*)[Nn]ode:? save(?:_\d+)?/Assign"
    r"(?:[^\n]*\]\((?P<culprit>[\w./-]+), )?"
)
# The weight that does not fit, where the message names one.
NAMED = Pattern(
    r"Error\(s\) in loading state_dict for(?s:.*?)\bsize mismatch for (?P<culprit>\S+): copying"
)
# Whoever restores what fits says the same, and goes on.
NAMED_ALONE = Pattern(r"\bsize mismatch for (?P<culprit>\S+): copying a param")
NAMED_KEY = Pattern(
    r"\b(?:Key|Tensor name) [\"']?(?P<culprit>[^\s\"']+)[\"']? not found in checkpoint"
)
NAMED_TENSOR = Pattern(
    r"\btensor_name = (?P<culprit>\S+); (?:expected dtype|shape in shape_and_slice)"
)
MISSING_KEY = Pattern(r"(?:Missing|Unexpected) key\(s\) in state_dict: \"(?P<culprit>[^\s\"]+)\"")
PARTLY = Pattern(
    r"(?i)newly initialized|expect_partial|strict=False.*continu|_CHECKPOINTABLE_OBJECT"
)
SAYS = "{who} restored a checkpoint of another model: {line}"
SAYS_OF = "the checkpoint is of another model, {culprit} does not fit: {line}"

cause = Cause(
    family="checkpoint-mismatch",
    words=(
        Words(NAMED, says=SAYS_OF, of_speaker=True),
        Words(NAMED_ALONE, Weight.SIGN, says=SAYS_OF, of_speaker=True),
        Words(NAMED_KEY, says=SAYS_OF, of_speaker=True, unless=PARTLY),
        Words(NAMED_TENSOR, says=SAYS_OF, of_speaker=True),
        Words(MISSING_KEY, says=SAYS_OF, of_speaker=True, unless=PARTLY),
        Words(KEY, says=SAYS, unless=PARTLY),
        Words(SIZE, says=SAYS),
        Words(IN_A_RESTORE, says=SAYS, of_speaker=True),
    ),
    do=(
        "compare tf.train.list_variables('CHECKPOINT') with the variables of the model",
        "restore with the code and flags that saved it, or train in an empty folder",
    ),
    remedy=AskHuman(),
)
