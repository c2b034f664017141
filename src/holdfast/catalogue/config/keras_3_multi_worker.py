"""`fit` of Keras 3 was called under MultiWorkerMirroredStrategy, and cannot train there.

## What you see
Every worker ends in its first `model.fit` or `model.evaluate`, before the first step, with
`ValueError: Attempt to convert a value (PerReplica:{ … }) with an unsupported type (<class
'tensorflow.python.distribute.values.PerReplica'>) to a Tensor`. The same program runs on one
worker, and on several with TensorFlow 2.15.

## Why it happens
Since TensorFlow 2.16, `tf.keras` is Keras 3. Its `fit` builds the model from a first batch. With
several workers that batch is a `PerReplica` value, which its layers do not take.

## How to confirm it by hand
`python -c "import tensorflow as tf; print(tf.__version__, tf.keras.__version__)"` tells Keras 3,
and the innermost line of your own in the traceback calls `fit` or `evaluate`.

## What to do
- The smallest change is Keras 2: `pip install tf_keras` of TensorFlow's own minor version, and
  `TF_USE_LEGACY_KERAS=1` in the environment of every task, before TensorFlow is imported:
  `holdfast run --env TF_USE_LEGACY_KERAS=1 …`. It is read by `tf.keras` only: a program that
  says `import keras` must say `import tf_keras as keras`.
- Or keep the model of Keras 3, and write the loop: `strategy.experimental_distribute_dataset`, and
  `strategy.run(train_step, args=(batch,))` in a `tf.function`, with `optimizer.apply_gradients`.
- Or let another backend distribute it: `KERAS_BACKEND=jax` with `keras.distribution.DataParallel`
  and `jax.distributed.initialize` (`holdfast run --for jax`), or `KERAS_BACKEND=torch` with
  `DistributedDataParallel` and a loop of one's own (`holdfast run --for torch`).

## When this accusation would be wrong
When a line of one's own hands a value of several replicas to an op, as in a loop without
`strategy.run`: then that line is the innermost one, and this cause stays silent. A later Keras may
learn to train so: then no such exception is raised.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

PER_REPLICA = Pattern(r"ValueError: Attempt to convert a value \(PerReplica:\{")
CALLS_KERAS = Pattern(r"\.(?:fit|evaluate)\(")

cause = Cause(
    family="version-mismatch",
    words=(
        Words(
            PER_REPLICA,
            own_line=CALLS_KERAS,
            says="{who} ended in fit of Keras 3, which cannot train under"
            " MultiWorkerMirroredStrategy: it takes a batch of several workers for a tensor",
        ),
    ),
    do=(
        (
            "train with Keras 2: pip install tf_keras, of TensorFlow's minor version, and start it"
            " with holdfast run --env TF_USE_LEGACY_KERAS=1"
        ),
        "or keep Keras 3 and write the loop with strategy.run in a tf.function, without fit",
        (
            "or use another backend: KERAS_BACKEND=jax with keras.distribution.DataParallel"
            " (holdfast run --for jax), or torch with DistributedDataParallel"
        ),
    ),
    remedy=AskHuman(),
)
