"""A task could not use its TF_CONFIG: not JSON, or a task that is not in the cluster.

## What you see
The task ends at once with exit code 1 and `JSONDecodeError`, or with a `ValueError` about
`task_id`, `task_type` or `cluster_spec`. The name TF_CONFIG often does not appear. The other
tasks wait for it as if it had never been started.

## Why it happens
Mostly `os.environ["TF_CONFIG"] = str(dict)`: Python prints single quotes, JSON wants double
ones. Else the variable is empty, the index is out of range, the type has a typo, the `task`
part is missing, an address has no port, or has `grpc://` in front.

## How to confirm it by hand
`python -c 'import json, os; print(json.loads(os.environ["TF_CONFIG"]))'` in the same
environment.

## What to do
Write it with `json.dumps`, or leave it alone: under `holdfast run` every task already has a
correct one.

## When this accusation would be wrong
When the program parses another JSON text in the same line. The finding rests on a traceback
that ends in TensorFlow's TF_CONFIG resolver or in a line of code that names TF_CONFIG.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.unreadable_tf_config import (
    WRITE_AS_JSON,
    is_unreadable_tf_config,
    parsing_frame,
)
from holdfast.model.wording import Weight, Words

RESOLVER = Pattern(r"/tfconfig_cluster_resolver\.py:")
SAYS = (
    (
        Pattern(r"Expecting property name enclosed in double quotes: line 1 column 2 "),
        "is a Python dict printed with str(), not JSON",
    ),
    (Pattern(r"Expecting value: line 1 column 1 \(char 0\)"), "is empty or not JSON"),
    (Pattern(r"Expecting|Extra data|Unterminated string|Invalid"), "is not JSON"),
)
WRONG_TASK = Pattern(
    r"The `?task_id`? \d+ exceeds the maximum id of"
    r"|Unrecognized task_type:"
    r"|When `?cluster_spec`? is given, you must also specify `?task_type"
    r'|it must have one "chief" node'
    r"|Task \d+ was not defined in job"
    r"|Could not parse port for local server from"
    r'|Could not interpret "[^"]*" as a host-port pair'
    r'|Job "[^"]*" was not defined in cluster'
)
FIX = (
    WRITE_AS_JSON,
    "or do not set it: `holdfast run` gives every task a correct TF_CONFIG",
)


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        seen = evidence.last_traceback(failure.task)
        if seen is None:
            continue
        if is_unreadable_tf_config(seen):
            what = next(
                says for pattern, says in (*SAYS, OTHERWISE) if pattern.search(seen.message)
            )
            yield Proof(
                facts=(seen, failure),
                culprit=failure.task,
                says=f"the TF_CONFIG of {failure.task} {what}",
                do=FIX,
            )
        elif WRONG_TASK.search(seen.message) or RESOLVER.search(parsing_frame(seen)):
            yield Proof(
                facts=(seen, failure),
                culprit=failure.task,
                confidence=Confidence.HIGH,
                says=f"the TF_CONFIG of {failure.task} does not fit: {_sentence(seen.message)}",
                do=("correct the part that it names", FIX[1]),
            )


OTHERWISE = (Pattern(""), "cannot be parsed")


def _sentence(message: str) -> str:
    return message.partition("\n")[0][:200]


WORDS = (
    Words(
        Pattern(r"ncclInvalidUsage: |NCCL error[^\n]*, invalid usage"),
        Weight.SIGN,
        unless=Pattern(r"Duplicate GPU detected"),
        says="{who} shares its GPU with another rank, or has a wrong place among them: {line}",
    ),
    Words(WRONG_TASK, says="{who} is not in the cluster that its TF_CONFIG describes: {line}"),
    Words(
        Pattern(
            r'in TF_CONFIG\b.*must|"?(?:cluster|task|task_type)"? is not found in (?:the `task`'
            r" part of )?TF_CONFIG|Disallowed task type found in cluster spec"
            r"|not found in cluster_spec|There must be at most one '(?:chief|evaluator)' job"
            r"|Task -?\d+ was not defined in job|Invalid device name: /job:\w+/replica:\d+/task:-\d"
            r"|(?:should|must) be set in (?:the )?TF_CONFIG"
            r"|[Dd]uplicate task registration with task"
            r"|Unexpected task registered with|TF_CONFIG\b[^\n]{0,40}(?:is )?(?:invalid|malformed"
            r"|not valid)|No such job in cluster|No task with index \d+ in job"
            r"|Job \S+ was not defined in cluster"
            r"|is not a valid task_(?:type|id)|`?task_type`? .* not (?:in|found in) `?cluster"
            r"|TF_CONFIG environment is not set correctly|`task\.type` in TF_CONFIG"
            r"|You must have `chief` or `worker` jobs|If `master` node exists in `cluster`"
            r"|Task index must be non-negative|Must specify an explicit `(?:job_name|task_index)`"
        ),
        says="{who} has a definition of the cluster that does not fit: {line}",
    ),
    Words(
        Pattern(r"KeyError: '(?:TF_CONFIG|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|RANK|LOCAL_RANK)'"),
        Weight.SIGN,
        says="{who} was not told its place among the tasks: {line}",
    ),
    Words(
        Pattern(
            r"environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK) expected"
            r"|[Rr]ank -?\d+ (?:exceeds|is (?:larger|greater) than|is out of range|>= ?world)"
            r"|(?i:rank\b[^\n]{0,30}\bless than (?:the )?world[ _]?size)|mismatched? world[ _]size"
            r"|world[ _]size mismatch|rank should be in the interval"
            r"|Duplicate GPU detected ?: (?P<culprit>rank \d+)"
        ),
        says="{who} was told a wrong place among the tasks: {line}",
    ),
)

cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    hears=(WRONG_TASK,),
    remedy=AskHuman(),
    preview=False,
    yields_to=frozenset(
        {
            *("spec-bad-address", "spec-duplicate-address", "spec-evaluator-listed"),
            *("spec-two-chiefs", "spec-unreadable", "spec-without-cluster", "spec-wrong-task"),
        }
    ),
    words=WORDS,
    do=(
        'print it in every task: echo "$TF_CONFIG" | python -m json.tool',
        "use the same cluster everywhere, and a type and index that are in it",
    ),
)
