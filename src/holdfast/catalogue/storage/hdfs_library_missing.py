"""TensorFlow cannot load what it needs to talk to HDFS: libhdfs, Java, or Hadoop's classes.

## What you see
`libhdfs.so: cannot open shared object file`, `Environment variable HADOOP_HDFS_HOME not set`,
`loadFileSystems error`, `NoClassDefFoundError` below `hdfsBuilderConnect`, or only `Unknown error
255`.

## Why it happens
`HADOOP_HDFS_HOME`, `JAVA_HOME`, `LD_LIBRARY_PATH` (for libjvm.so and libhdfs.so) or `CLASSPATH`
are not set in the environment of the task, often on one host only.

## How to confirm it by hand
In the task's own environment: `echo $CLASSPATH | head -c 200`, `ls
$HADOOP_HDFS_HOME/lib/native/libhdfs.so`, `ldd` on it.

## What to do
Set `HADOOP_HDFS_HOME` and `JAVA_HOME`,
`LD_LIBRARY_PATH=$JAVA_HOME/lib/server:$HADOOP_HDFS_HOME/lib/native`, and `CLASSPATH=$(hadoop
classpath --glob)` for every task.

## When this accusation would be wrong
When TensorFlow only tries the library at its import, and the job never uses HDFS: that line of
`hadoop_file_system.cc` is noise.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

LIBRARY = Pattern(
    r"lib(?:hdfs\d?|jvm)\.so\S*: cannot open shared object file|HADOOP_HDFS_HOME not set"
    r"|Unable to load libjvm|[Uu]nable to load libhdfs|Can not find the shared library: libhdfs"
    r"|getJNIEnv: getGlobalJNIEnv failed|JNI_CreateJavaVM"
    r"|Failed to load HDFS-configuration"
)
NAMED = Pattern(r"(?P<culprit>\blib(?:hdfs\d?|jvm)\.so[\w.]*): cannot open shared object file")
UNLOADED = Pattern(r"[Uu]nable to load (?P<culprit>lib(?:hdfs\d?|jvm))\s*$")
CLASSES = Pattern(
    r"loadFileSystems error|\(unable to get (?:root cause|stack trace) for java\.lang\."
    r"|Could not initialize class org\.apache\.hadoop|could not find method getRootCauseMessage"
    r"|NoClassDefFoundError: org/apache/(?:hadoop|commons)"
    r"|Environment variable CLASSPATH not set|ExceptionUtils: class not found"
)
UNKNOWN = Pattern(
    r"(?:Error|Exception): (?:.*?(?P<culprit>(?:hdfs|viewfs)://[^\s;]+); )?Unknown error 255"
)
# The namenode, as libhdfs tells what it was asked for.
ASKED = Pattern(r"hdfs\w*Connect\(.*\bnn=(?P<culprit>[^\s,)]+:\d+)")
SAYS = "{who} cannot load what it needs for HDFS: {line}"

cause = Cause(
    family="hdfs-access",
    words=(
        Words(NAMED, says=SAYS, of_speaker=True),
        Words(UNLOADED, says=SAYS, of_speaker=True),
        Words(LIBRARY, says=SAYS),
        Words(CLASSES, says=SAYS),
        Words(UNKNOWN, says=SAYS, weight=Weight.SIGN, of_speaker=True),
    ),
    do=(
        "export CLASSPATH=$(hadoop classpath --glob) in the environment of every task",
        "export LD_LIBRARY_PATH=$JAVA_HOME/lib/server:$HADOOP_HDFS_HOME/lib/native",
    ),
    remedy=AskHuman(),
    where=(ASKED,),
)
