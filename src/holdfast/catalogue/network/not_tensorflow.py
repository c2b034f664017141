"""Another program answers at a task's address.

## What you see
The task itself could not start its server, or was never started. The others connect to
whatever listens there, get no sensible answer, and wait without a word.

## Why it happens
A web server, a dashboard, an SSH tunnel, a service of another user holds the port; or the
definition has the port of something else.

## How to confirm it by hand
`curl -v http://HOST:PORT/` shows who it is; `ss -ltnp 'sport = :PORT'` on the host names the
process.

## What to do
Give the task another port in all definitions, or end the other program if it is a leftover.

## When this accusation would be wrong
When a proxy or a load balancer in between speaks before it passes on: TensorFlow needs a plain
path to its peers. A server that is just being started or ended may speak oddly for a moment: after
a single look it is only `likely`. It rests on an answer, not on silence: a starved server gives
none.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.path import Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import missing
from holdfast.model.wording import Weight, Words

SPEAKS = {
    Outcome.NOT_GRPC: "something that does not speak gRPC",
    Outcome.NOT_TENSORFLOW: "a gRPC server that is not TensorFlow's",
}
WORDS_MAX = 120


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task, standing in missing(evidence).items():
        look = standing.look
        what = SPEAKS.get(Outcome(look.outcome))
        if what is None:
            continue
        port = look.address.rpartition(":")[2]
        said = f" ({' '.join(look.says.split())[:WORDS_MAX]})" if look.says else ""
        yield Proof(
            facts=(look,),
            culprit=task,
            confidence=Confidence.HIGH if standing.seen_twice else Confidence.LIKELY,
            says=f"at {look.address}, where {task} should be, answers {what}{said}",
            do=(
                f"on its host, see who it is: ss -ltnp 'sport = :{port}'",
                f"give {task} another port in every TF_CONFIG, or end that program",
            ),
        )


WORDS = (
    Words(
        Pattern(r"Failed parsing HTTP/2|Unexpected HTTP/1\.[01] (?:response|server)"),
        Weight.SIGN,
        blames_named=True,
        says="at the address of {who} answers another program: {line}",
    ),
)

cause = Cause(
    family="port-conflict",
    detect=detect,
    remedy=AskHuman(),
    yields_to=frozenset({"port-conflict", "spec-differs", "spec-wrong-task"}),
    words=WORDS,
    do=(
        "see who listens there: ss -ltnp 'sport = :PORT'",
        "give the task a port of its own in every definition",
    ),
)
