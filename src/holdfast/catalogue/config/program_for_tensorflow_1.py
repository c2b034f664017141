"""A program written for TensorFlow 1 runs with TensorFlow 2.

## What you see
`module 'tensorflow' has no attribute 'Session'` (or `placeholder`, `contrib` ...), `No
module named 'tensorflow.contrib'`.

## Why it happens
TensorFlow 2 moved these names to `tf.compat.v1` and dropped `tf.contrib`; `pip install tensorflow`
installs version 2.

## How to confirm it by hand
`python -c "import tensorflow; print(tensorflow.__version__)"`.

## What to do
`import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()`, or `tf_upgrade_v2 --infile train.py
--outfile train2.py`, or install TensorFlow 1.15 with Python 3.7.

## When this accusation would be wrong
When a file of one's own is called `tensorflow.py` and hides the library.
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
                r"module '?tensorflow'? has no attribute '(?:Session|InteractiveSession|placeholder"
                r"|ConfigProto|GPUOptions|app|flags|contrib|logging|gfile|layers|variable_scope"
                r"|get_variable|global_variables_initializer|get_default_graph|reset_default_graph"
                r"|set_random_seed|train|AUTO_REUSE|log|enable_eager_execution|Print|to_float"
                r"|random_uniform|truncated_normal|initialize_all_variables|spectral|py_func"
                r"|python_io|read_file|div|is_nan|placeholder_with_default|summary_writer)'"
            )
        ),
        Words(
            Pattern(
                r"No module named '?tensorflow\.(?:contrib|examples|python\.keras|models|compat)"
                r"[\w.]*'?"
            )
        ),
        Words(Pattern(r"tf\.placeholder\(\) is not compatible with eager execution")),
        Words(Pattern(r"module 'tensorflow[\w.]*' has no attribute '(?:contrib|Session)")),
        Words(
            Pattern(r"module '?tensorflow\.contrib[\w.]*'? has no attribute '(?P<culprit>\w+)'"),
        ),
    ),
    do=(
        "in the program: import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()",
        "or convert it: tf_upgrade_v2 --infile train.py --outfile train2.py",
    ),
)
