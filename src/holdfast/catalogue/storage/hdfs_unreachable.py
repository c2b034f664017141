"""HDFS does not answer, or has no live datanode for a block.

## What you see
`Call From host-a/10.0.0.1 to namenode:8020 failed on connection exception:
java.net.ConnectException`, `could only be replicated to 0 nodes`, `Could not obtain block`,
`Operation category READ is not supported in state standby`.

## Why it happens
The namenode is down, or its address or port in `core-site.xml` is wrong; no datanode is alive or
has room; the name of a highly available cluster is not configured on this host.

## How to confirm it by hand
`hdfs dfs -ls /` on the same host as the same user, and `hdfs dfsadmin -report`.

## What to do
Correct `fs.defaultFS`, give every host the same `hdfs-site.xml` (`HADOOP_CONF_DIR`), and bring
the namenode or datanodes up.

## When this accusation would be wrong
When the client asks the second namenode after the first, and goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

NAMENODE = Pattern(
    r"Call From \S+ to (?P<culprit>[^\s:]+):\d+ failed on (?:connection"
    r"|socket timeout|local) exception|org\.apache\.hadoop\.net\.ConnectTimeoutException"
    r"|java\.net\.NoRouteToHostException.*:(?:8020|9000)\b|is not supported in state standby"
    r"|hdfs.*(?:ConnectException|Connection refused)"
    r"|UnknownHostException: \S*hdfs"
    r"|Couldn't create proxy provider|Incomplete HDFS URI, no host"
    r"|Server IPC version .* cannot communicate"
    r"|HDFS (?:connection|list directory|get path info|create directory|read|write) failed"
    r"|hdfs\.util\.HdfsError: |(?:FileNotFoundException|Error): .*File does not exist: hdfs://"
    r"|HDFS_DELEGATION_TOKEN .*(?:can't be found in cache|is expired|has expired)"
    r"|Unable to (?:get namenodes|connect to (?:the )?HDFS)|HdfsConnectError"
    r"|[Nn]amenode [^\n]{0,60}(?:unreachable|is not (?:available|active|running))"
    r"|HdfsIOException: |InvalidToken: .*hdfs"
)
# TensorFlow puts the path before what its file system says.
PATH = Pattern(
    r"(?:Error|Exception|argument|found|exhausted|recondition|nternal|nknown|navailable"
    r"|base path):? (?P<culprit>(?:hdfs|viewfs)://[^\s;,]+)(?:;|$| for servable)"
)
UNKNOWN = Pattern(r"; Unknown error 255")
DATANODE = Pattern(
    r"could only be (?:replicated to|written to) \d+ (?:nodes|of the)|Could not obtain block: BP-"
    r"|BlockMissingException|All datanodes .* are bad|no more good datanodes being available"
    r"|[Ff]ailed to replace a bad datanode"
)
CONNECT = Pattern(
    r"hdfs(?:Connect|BuilderConnect|OpenFile|ListDirectory|GetPathInfo|Exists|CreateDirectory"
    r"|Write|Read"
    r"|Delete|Rename|Flush|CloseFile)\(.*error:"
)
# The namenode, as libhdfs tells what it was asked for.
ASKED = Pattern(r"hdfs\w*Connect\(.*\bnn=(?P<culprit>[^\s,)]+:\d+)")
SAYS = "{who}: HDFS does not serve: {line}"

cause = Cause(
    family="hdfs-access",
    words=(
        Words(NAMENODE, says=SAYS),
        Words(DATANODE, says=SAYS),
        Words(PATH, says=SAYS, weight=Weight.SIGN, of_speaker=True, unless=UNKNOWN),
        Words(CONNECT, says=SAYS, weight=Weight.SYMPTOM),
    ),
    do=(
        "ask from the same host: hdfs dfs -ls /; hdfs dfsadmin -report",
        "correct fs.defaultFS in core-site.xml, and set HADOOP_CONF_DIR for every task",
    ),
    remedy=AskHuman(),
    where=(ASKED,),
)
