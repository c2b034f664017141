"""Tensors of shapes that do not fit together were put into one operation.

## What you see
`Incompatible shapes: [3] vs. [4]`, `Matrix size-incompatible`, `Dimensions must be equal`, `Input
0 of layer ... is incompatible with the layer`, `operands could not be broadcast together`, in
PyTorch `mat1 and mat2 shapes cannot be multiplied` or `The size of tensor a must match the size
of tensor b`.

## Why it happens
The input has another shape than the model was built for: another dataset, a last batch that is
smaller than the others, a changed constant, labels of another width than the output.

## How to confirm it by hand
Print the shapes of the two tensors that the message names just before the line of your own in the
traceback.

## What to do
Correct the shape at that line, or make the input fit: `drop_remainder=True` for a smaller last
batch, padding for elements of different lengths.

## When this accusation would be wrong
When the program tried shapes on purpose, caught the exception and went on. A weight that does not
fit a checkpoint is the cause checkpoint-of-other-model.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

# TensorFlow and Keras, as the runtime and as the builder of graphs say it.
OF_TENSORFLOW = Pattern(
    r"Incompatible shapes: \[|Matrix size-incompatible: "
    r"|Shapes? \S+ and \S+ (?:are|is) incompatible"
    r"|Dimensions must be equal, but are |Shapes? must be (?:at least |equal )?rank"
    r"|must be equal rank, but are|ConcatOp ?: (?:Dimension|Ranks)|required broadcastable shapes"
    r"|Input to reshape is a tensor with \d+ values, but the requested shape"
    r"|Cannot feed value of shape .* which has shape|Cannot reshape a tensor with \d+ elements"
    r"|[Ll]ogits`? and `?labels`? must (?:be|have)|Cannot batch tensors with different shapes"
    r"|[Ii]nput \d+ .*is incompatible with (?:the )?layer|must have the same size and shape"
    r"|Error when checking .*expected .* to have|is not the size the model expected"
    r"|You are passing a target array of shape|expects \d+ input\S*, but it received \d+ input"
    r"|must have the same (?:shape|rank)\b"
    r"|shape in shape_and_slice spec .* does not match the shape stored in"
    r"|Cannot update variable with shape .* using a Tensor with shape"
    r"|All inputs to .* must have (?:the )?same (?:size|shape)"
)
OF_TENSORFLOW_TOO = Pattern(
    r"Dimension \d+ in both shapes must be equal|Shapes of all inputs must match"
    r"|Negative dimension size caused by|Number of \w+ values != expected"
    r"|Can ?not squeeze dim\[\d+\], expected a dimension of|has inconsistent shapes"
    r"|Data cardinality is ambiguous|was passed for an output of shape"
    r"|must have the same number of samples|should have the same number of samples"
    r"|is not compatible with supplied shape|Computed output size would be negative"
    r"|evenly divisible by (?:the )?(?:filter|number of groups)"
    r"|In\[\d\] (?:is not a matrix|mismatch)"
    r"|shape mismatch: (?:value array|objects cannot|indexing)"
    r"|setting an array element with a seq"
    r"|total size of new array must be unchanged|[Bb]oolean index did not match indexed array"
    r"|Incompatible shapes between op input and|expected (?:min_|max_)?ndim=\d+, found ndim="
    r"|inconsistent numbers of samples|Dimension size must be evenly divisible by"
    r"|Input shape axis \d+ must equal|requires inputs with matching shapes|axes don't match array"
    r"|matrices are not aligned|must have same number of dimensions|Expected \dD array, got"
)
OF_NUMPY = Pattern(
    r"operands could not be broadcast together with|could not broadcast input array from shape"
    r"|cannot reshape array of size \d+ into shape|shapes \([^)]*\) and \([^)]*\) not aligned"
    r"|input array dimensions .*the concatenation axis must match exactly"
    r"|Input operand \d+ has a mismatch in its core dimension"
    r"|setting an array element with a sequence\. The requested array has an inhomogeneous"
    r"|(?:Data|x and y).*must have (?:the )?same first dimension"
    r"|all input arrays must have the same"
    r"|got incompatible shapes for broadcasting"
    r"|Incompatible shapes for (?:broadcasting|dot|matmul)"
    r"|requires contracting dimensions to have the same shape"
)
OF_PYTORCH = Pattern(
    r"shapes cannot be multiplied \(|size mismatch, (?:m1|got)"
    r"|size of tensor a \(\d+\) must match"
    r"|[Ss]izes of tensors must match except in dimension|is invalid for input of size \d+"
    r"|stack expects each tensor to be equal size|weight of size .* expected input.* channels"
    r"|batch_size \(\d+\) to match target batch_size|doesn't match the broadcast shape"
    r"|The expanded size of the tensor .* must match"
    r"|does not match the shape of the indexed tensor"
    r"|must be the same as input size \(torch|[Ee]xpected \d+D .*input .*got"
    r"|mat1 dim 1 must match mat2"
    r"|Expected \d+-dimensional input for \d+-dimensional weight|Output size is too small"
    r"|must be equal to input_size\. Expected|Kernel size can't be greater than actual input size"
    r"|each element in list of batch should be of equal size|Trying to resize storage that is not"
    r"|Tensors must have same number of dimensions|only batches of spatial targets supported"
    r"|Expected more than 1 value per channel when training"
    r"|Dimension out of range \(expected to be"
    r"|too many indices for (?:tensor|array)|cannot copy sequence with size \d+ to array axis"
    r"|must match dimensions of|weights can not be broadcast to values"
    r"|does not broadcast with previously seen size|inconsistent tensor sizes?"
    r"|Using a target size .* that is different to the input size .*Error"
)
# What kernels of TensorFlow say of one argument.
OF_ONE = Pattern(
    r"(?:InvalidArgumentError|Invalid argument|INVALID_ARGUMENT|ValueError)\b.*"
    r"\b(?:(?:must|should) (?:be|have) (?:(?:at least|exactly|of) )?(?:a )?"
    r"(?:scalar|vector|matrix|rank|[0-9]-?(?:D\b|dimensional))"
    r"|[Rr]ank of .* (?:must|should) be .*(?:but|saw|got))"
)
IN_OTHER_WORDS = Pattern(
    r"(?:Error|Exception): .*\b(?:[Dd]im(?:ension)?s?|[Ss]hapes?|[Ss]izes?)\b"
    r".*(?:not match|n't match|mismatch|must match|not compatible|incompatible|not equal)"
    r"|(?:Error|Exception): .*(?:not match|n't match|[Mm]ismatch|must match|not equal)"
    r".*\b(?:[Dd]im(?:ension)?s?|[Ss]hapes?|[Ss]izes?)\b"
    r"|(?:Error|Exception): .*\b(?:[Ss]hape mismatch|[Ii]ncompatible (?:tensor )?shapes)"
    r"|(?:Error|Exception): .*\b[Ee]xpected .*\b(?:shape|dim(?:ension)?s?)\b.*\b(?:got|found|but)\b"
)
OF_A_CHECKPOINT = Pattern(r"(?:[Ff]rom|in|[Rr]estoring) (?:the )?checkpoint|state_dict|to restore ")
OF_SOMETHING_ELSE = Pattern(
    r"(?i)(?:from|in) (?:the )?checkpoint|state_dict|to restore |collective|allreduce|allgather"
    r"|rank \d+|world.?size|checksum"
)
SAYS = "{who} put tensors together whose shapes do not fit: {line}"

cause = Cause(
    family="shape-mismatch",
    words=(
        Words(OF_TENSORFLOW, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(OF_TENSORFLOW_TOO, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(OF_NUMPY, says=SAYS),
        Words(OF_PYTORCH, says=SAYS),
        Words(OF_ONE, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(IN_OTHER_WORDS, says=SAYS, weight=Weight.SIGN, unless=OF_SOMETHING_ELSE),
    ),
    do=(
        "print the shapes of both tensors before the line of your own that the traceback names",
        "make the input fit the model: drop_remainder=True, padding, or the model's own constants",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"checkpoint-of-other-model"}),
)
