"""A message is larger than its limit: gRPC's, or the 2 GB of a protocol buffer.

## What you see
`Received message larger than max (5242880 vs. 4194304)`, `A protocol message was rejected because
it was too big`, `Cannot create a tensor proto whose content is larger than 2GB`.

## Why it happens
A large array became a constant of the graph, a variable or batch is sent whole, or a limit is
still at its default (4 MiB in plain gRPC, 2 GB in any protocol buffer).

## How to confirm it by hand
The message names the size and the limit. `len(graph.as_graph_def().SerializeToString())` shows how
large a graph is.

## What to do
Feed large arrays through `tf.data` or a placeholder instead of constants; partition large
variables; raise `grpc.max_receive_message_length` on both sides where the program sets up
gRPC itself.

## When this accusation would be wrong
A size without any sense, read from a port where something else speaks, is not a large message but
the wrong peer.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="message-too-large",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(r"(?:Received|Sent|Received message|Message) (?:message )?larger than max \(")
        ),
        Words(Pattern(r"protocol message was rejected because it was too big")),
        Words(
            Pattern(
                r"(?i:(?:tensor proto|GraphDef|graph|message|protobuf)\b[^\n]*"
                r"(?:larger than|exceed(?:s|ed)?(?: the)?(?: maximum)?(?: protobuf)?(?: size)?"
                r"(?: limit)?(?: of)?) ?(?:the )?2 ?GB)"
            )
        ),
        Words(Pattern(r"[Ee]xceed(?:s|ed) maximum protobuf size")),
        Words(
            Pattern(
                r"(?:serialized size|would be) [^\n]*larger than the limit"
                r"|Error serializing \w+: .*too (?:large|big)"
            )
        ),
        Words(
            Pattern(
                r"Cannot allocate buffer larger than kint32max|EncodeError: Failed to serialize"
                r"|was modified concurrently during serialization"
            ),
            Weight.SIGN,
        ),
        Words(Pattern(r"exceeds max allowed: spark\.(?:rpc|akka)\.")),
        Words(Pattern(r"cannot serialize a (?:bytes|string|str) object larger than 4 ?GiB")),
        Words(Pattern(r"'i' format requires -2147483648 <= number <= 2147483647")),
        Words(
            Pattern(
                r"413 (?:Request Entity|Payload|Content) Too Large|MessageSizeTooLarge"
                r"|[Mm]essage size too large|RecordTooLargeException"
                r"|[Ss]ent message larger than max"
                r"|Frame size of [^\n]* larger than max|exceeds? the maximum message size"
                r"|frame (?:size )?too large|trying to send message larger than"
                r"|TooLongFrameException"
            ),
            Weight.SIGN,
        ),
        Words(Pattern(r"grpc: (?:received|trying to send) message larger than max")),
    ),
    do=(
        "feed large arrays through tf.data or a placeholder, not as constants of the graph",
        "raise the limit on both sides: grpc.max_receive_message_length, max_send_message_length",
    ),
)
