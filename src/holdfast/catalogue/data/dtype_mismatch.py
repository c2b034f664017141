"""Tensors of different types were put into one operation.

## What you see
`x and y must have the same dtype, got tf.float32 != tf.int32`, `was expected to be a float tensor
but is a double tensor`, `Tensor conversion requested dtype`, `has type int32 that does not match
type float32`, in PyTorch `expected scalar type Float but found Half`.

## Why it happens
NumPy makes float64 and int64 where TensorFlow wants float32 and int32; labels are integers where
the loss wants floats; one part of the model runs in half precision.

## How to confirm it by hand
Print the dtype of both tensors just before the line of your own in the traceback.

## What to do
Cast one of them: `tf.cast(x, tf.float32)`, `array.astype(numpy.float32)`, `tensor.float()`.

## When this accusation would be wrong
When the program tried types on purpose, caught the exception and went on. A type that a
checkpoint has otherwise is the cause checkpoint-of-other-model.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

OF_TENSORFLOW = Pattern(
    r"must have the same dtype, got|was expected to be an? \w+ tensor but is an? \w+ tensor"
    r"|Tensor conversion requested dtype \w+ for Tensor with dtype"
    r"|Op has type \w+ that does not match (?:expected )?type"
    r"|has DataType \w+ not in list of allowed values|Op have types \[.* that don't all match"
    r"|Expected \w+(?: passed to parameter '[^']*' of op '[^']*')?, (?:but )?got .*"
    r" of type '\w+' instead"
    r"|Cannot convert .* to EagerTensor of dtype|of dtype \w+ is not compatible with the"
    r"|(?:Data|Input) types? don't match|Conflicting types? between|Type mismatch between"
    r"|Trying to read variable with wrong dtype|does not match declared output type"
    r"|[Tt]ype mismatch:? .*\b(?:float|int|double|half|bfloat)\d*\b"
    r"|requires (?:arguments|inputs) to have (?:the )?(?:same|equal) dtypes?"
)
OF_PYTORCH = Pattern(
    r"expected scalar type \w+ but (?:found|got)|must have the same dtype"
    r"|Input type \(\S+\) and (?:weight|bias) type \(\S+\) should be the same"
    r"|to have the same dtype, but got|Expected object of (?:scalar )?type \S+ but got"
    r"|can't be cast to the desired output type"
    r"|not implemented for '(?:Half|Long|Int|Bool|BFloat16)'"
    r"|Expected tensor for argument #\d+ .* to have .*scalar type"
    r"|[Ff]ound dtype \w+ but expected|source and destination dtypes match, got"
)
OF_NUMPY = Pattern(
    r"Cannot cast ufunc .* with casting rule|not supported for the input types, and the inputs"
    r"|can't convert np\.ndarray of type numpy\.object_"
    r"|Failed to convert a NumPy array to a Tensor"
    r"|Attempt to convert a value .*with an unsupported type"
)
OF_A_CHECKPOINT = Pattern(r"(?:[Ff]rom|in) (?:the )?checkpoint|state_dict|original dtype")
SAYS = "{who} put tensors of different types together: {line}"

cause = Cause(
    family="dtype-mismatch",
    words=(
        Words(OF_TENSORFLOW, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(OF_PYTORCH, says=SAYS),
        Words(OF_NUMPY, says=SAYS),
    ),
    do=(
        "print the dtype of both tensors before the line of your own that the traceback names",
        "cast one of them: tf.cast(x, tf.float32), array.astype(numpy.float32)",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"checkpoint-of-other-model"}),
)
