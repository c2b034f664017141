"""A record of the input is damaged or cut off.

## What you see
`DataLossError: corrupted record at 71303168`, `truncated record at 20971520`, `Is this even a
TFRecord file?`, `Could not parse example input`, or protobuf's `Error parsing message`.

## Why it happens
The writer was killed or the disk was full while the file was written, the copy is incomplete, two
writers wrote into one file, or the file is no TFRecord at all (it may be compressed).

## How to confirm it by hand
Count the records of each file: `for f in files: print(f, sum(1 for _ in
tf.data.TFRecordDataset(f)))`; the damaged one raises.

## What to do
Write or copy the damaged file again and compare its checksum with the source; give
`compression_type` for compressed files. To go on without it, use `dataset.ignore_errors()`.

## When this accusation would be wrong
When the program counts damaged records and leaves them out on purpose. A checkpoint that is
damaged is the cause checkpoint-damaged.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

RECORD = Pattern(
    r"(?:corrupted|truncated) record at \d+|Is this even a TFRecord file"
    r"|(?:DataLossError|Data loss|DATA_LOSS): .*(?:[Cc]orrupt|[Tt]runcated|inflate\(\)|snappy)"
    r"|Could not parse example input, value: |Error parsing message(?: with type)?"
    r"|Wire format was corrupt"
    r"|google\.protobuf\.message\.DecodeError: "
    r"|Failed to parse (?:serialized|TensorProto|GraphDef)"
    r"|[Uu]nable to parse .*(?:proto|TensorProto)|inflate\(\) failed with error -3"
    r"|RecordReader.*[Cc]orrupt|Snappy.*(?:corrupt|[Ii]nvalid)"
)
LOSS = Pattern(r"\bDataLossError\b|\.cc:\d+\].*(?:Data loss|DATA_LOSS): ")
# The records are whole, and not what the program takes them for.
OTHERWISE = Pattern(
    r"(?:Key|Feature): (?P<culprit>[^\s.]\S*?)\.?(?:  Can't parse serialized| \(data type: \w+\))"
    r"|Can't parse serialized (?:Sequence)?Example"
    r"|Feature list '[^']*' is required but could not be found"
)
SHORT = Pattern(
    r"(?:OutOfRangeError|IndexError): .*(?:[Rr]ead (?:less|fewer) bytes than"
    r" requested|read past end of file)"
)
OF_A_CHECKPOINT = Pattern(
    r"sstable|table file|TensorBundle|[Rr]estor(?:e|ing) |[Cc]hecksum does not match|Op:RestoreV2"
    r"|\b(?:[Ii]gnoring|[Ss]kipping|[Ss]kipped)\b"
)
SAYS = "{who} met a damaged record of its input: {line}"

cause = Cause(
    family="corrupt-data",
    words=(
        Words(RECORD, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(LOSS, says=SAYS, weight=Weight.SIGN, unless=OF_A_CHECKPOINT),
        Words(OTHERWISE, says=SAYS, weight=Weight.SIGN, of_speaker=True),
        Words(SHORT, says=SAYS, weight=Weight.SIGN, unless=OF_A_CHECKPOINT),
    ),
    do=(
        "find the damaged file: count the records of each one with tf.data.TFRecordDataset",
        "write or copy it again, and compare its checksum with the source",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"checkpoint-damaged"}),
)
