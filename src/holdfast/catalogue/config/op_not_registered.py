"""A graph or model uses an operation or attribute that this TensorFlow does not know.

## What you see
`Op type not registered 'X' in binary running on HOST`, `NodeDef mentions attr 'Y' not in
Op<name=...>`, or `Check whether your GraphDef-interpreting binary is up to date`.

## Why it happens
The graph was made by a newer TensorFlow than the one that runs it; a parameter server or a serving
host has another version than the trainer; or the library with a custom op is loaded in one of
them only.

## How to confirm it by hand
`python -c "import tensorflow; print(tensorflow.__version__)"` on both. Is the op one of
TensorFlow's own?

## What to do
The same TensorFlow everywhere; for a custom op `tf.load_op_library` (or its package) in every
process, also on parameter servers.

## When this accusation would be wrong
A damaged model file may name operations that never existed.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="version-mismatch",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"Op type not registered '?[\w>]+'?"
                r"(?: in binary running on (?P<culprit>[\w.-]*\w))?"
            )
        ),
        Words(Pattern(r"NodeDef (?:mentions attr|expected inputs|missing attr)[^\n]*Op<name=")),
        Words(Pattern(r"GraphDef-interpreting binary is up to date")),
        Words(Pattern(r"GraphDef (?:min consumer|producer) version \d+ (?:above|below)")),
    ),
    do=(
        "compare: python -c 'import tensorflow; print(tensorflow.__version__)' on both hosts",
        "for a custom op: tf.load_op_library in every process, also on parameter servers",
    ),
)
