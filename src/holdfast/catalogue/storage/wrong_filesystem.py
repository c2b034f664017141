"""A path belongs to another file system than the one that was asked for it.

## What you see
`Wrong FS: hdfs://..., expected: file:///`, `No FileSystem for scheme: hdfs`, `File system scheme
'hdfs' not implemented`.

## Why it happens
The path's scheme or host is not that of `fs.defaultFS`, Hadoop's configuration or the jar of that
scheme is missing, or TensorFlow needs a plug-in for it (`tensorflow-io` for `hdfs`, `s3`, `az`).

## How to confirm it by hand
`hdfs getconf -confKey fs.defaultFS`, and `python -c "import tensorflow as tf;
print(tf.io.gfile.exists('PATH'))"`.

## What to do
Write the path with the scheme and host of `fs.defaultFS`; set `HADOOP_CONF_DIR`; `pip install
tensorflow-io` and import it before the first use of the path.

## When this accusation would be wrong
When the program tries one file system after another, and goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

OTHER = Pattern(
    r"Wrong FS: (?P<culprit>\S+?),? expected: |No (?:Abstract)?FileSystem for scheme:? \"?\w+"
    r"|[Ff]ile system scheme '?\w+'? not implemented|Protocol not known: hdfs"
    r"|No FileSystem for scheme|UnsupportedFileSystemException"
)
SAYS = "{who} is not of the file system that was asked: {line}"

cause = Cause(
    family="hdfs-access",
    words=(Words(OTHER, says=SAYS),),
    do=(
        "compare the path with hdfs getconf -confKey fs.defaultFS",
        "pip install tensorflow-io, and import tensorflow_io before the first use of the path",
    ),
    remedy=AskHuman(),
)
