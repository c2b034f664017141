"""A cluster definition cannot be used: it is absent, is not JSON, or has the wrong shape.

## What you see
The task ends at once with `JSONDecodeError` or `TypeError`, while the others wait for it. Where
the variable is not set at all, there is no error: the task trains alone, to the end.

## Why it happens
`os.environ["TF_CONFIG"] = str(dict)`: Python prints single quotes, JSON wants double ones. Or a
shell took the quotes away, or left its own ones around the whole. Or the text was edited by hand:
a comma too many, a bracket too few, a name given twice.

## How to confirm it by hand
`python -c 'import json, os; print(json.loads(os.environ["TF_CONFIG"]))'` in the same
environment. It does not complain about a name that is given twice: the last one wins.

## What to do
Write it with `json.dumps`, in single quotes where a shell reads it; or let `holdfast run` set it.

## When this accusation would be wrong
When the program never reads this variable, or sets it by itself before TensorFlow looks.
"""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.model.definitions import by_culprit, newest, owner, proving, shown
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecUnreadable
from holdfast.model.findings import Cause, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import TASKS_MAX, Mistake
from holdfast.model.words import listed

EXAMPLE = (
    '{"cluster": {"worker": ["host-a:2222", "host-b:2222"]},'
    ' "task": {"type": "worker", "index": 0}}'
)
EXPORT = f"in a shell, put single quotes around the whole: export TF_CONFIG='{EXAMPLE}'"
DUMPS = 'in Python, write it with json.dumps: os.environ["TF_CONFIG"] = json.dumps(tf_config)'
RUN = "or start the tasks with `holdfast run`, which sets it for each of them"
EDIT = f"correct it at that place; a whole one looks like this: {EXAMPLE}"
ALONE = (
    "TensorFlow would take this task for the only one and train alone to the end, without a"
    " word, while the others wait for it"
)
WORDS: Mapping[str, tuple[str, str]] = {
    Mistake.UNSET: (f"TF_CONFIG is not set; {ALONE}", EXPORT),
    Mistake.EMPTY: ("it is empty, which TensorFlow cannot parse", EXPORT),
    Mistake.TOO_LARGE: (
        (
            f"it has more than 4 MiB or more parts than {TASKS_MAX} tasks need; this is something"
            " else, or nobody could start it"
        ),
        EDIT,
    ),
    Mistake.TOO_MANY_TASKS: (f"it has more than {TASKS_MAX} tasks", EDIT),
    Mistake.TOO_DEEP: ("its brackets are nested deeper than any parser goes", EDIT),
    Mistake.PYTHON_DICT: (
        "a Python dict printed with str(): JSON wants double quotes, true, false and null",
        DUMPS,
    ),
    Mistake.OUTER_QUOTES: (
        (
            "quotes stand around the whole JSON and became part of it; .env and YAML files and"
            " `docker --env-file` keep the quotes that a shell would take"
        ),
        "remove the outer quotes (and any backslash before the inner ones)",
    ),
    Mistake.LOST_QUOTES: ("it has no quotes at all; a shell took them away", EXPORT),
    Mistake.TRAILING_COMMA: (
        "a comma stands before a closing bracket, which Python allows and JSON does not",
        "delete that comma",
    ),
    Mistake.CUT_OFF: ("the text ends before the JSON does; a part of it is lost", EDIT),
    Mistake.EXTRA_TEXT: (
        "more text follows behind the end of the JSON",
        "delete what stands behind that place, or the bracket too many before it",
    ),
    Mistake.NOT_JSON: ("this is not JSON", DUMPS),
    Mistake.DUPLICATE_KEY: (
        "a name stands here for the second time: TensorFlow forgets the first without a word",
        "join the two, or delete one of them",
    ),
    Mistake.NOT_AN_OBJECT: ("it is JSON, but no object with `cluster` and `task`", EDIT),
    Mistake.CLUSTER_MISPLACED: (
        f"the cluster does not stand under the name `cluster`: {ALONE}",
        EDIT,
    ),
    Mistake.CLUSTER_NOT_AN_OBJECT: ("`cluster` is not an object of roles", EDIT),
    Mistake.MEMBERS_NOT_ADDRESSES: (
        "a role needs a list of addresses in quotes, also when there is only one",
        EDIT,
    ),
    Mistake.TASK_NOT_AN_OBJECT: ("`task` is not an object with `type` and `index`", EDIT),
    Mistake.TYPE_NOT_TEXT: ("the `type` of the task is not a text such as worker", EDIT),
    Mistake.INDEX_NOT_A_NUMBER: ("the `index` of the task is not a whole number", EDIT),
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    same: dict[str, list[SpecUnreadable]] = {}
    for spec in newest(evidence.of(SpecUnreadable)):
        same.setdefault(spec.mistake, []).append(spec)
    for mistake, specs in same.items():
        what, do = WORDS.get(mistake, (f"it cannot be read ({shown(mistake)})", EDIT))
        for culprit, theirs in by_culprit(specs).items():
            yield Proof(
                facts=proving(theirs),
                culprit=culprit,
                says=f"{listed([_where(spec) for spec in theirs])}{_near(theirs)}: {what}",
                do=(do, RUN),
            )


def _where(spec: SpecUnreadable) -> str:
    place = f", line {spec.line}, column {spec.column}" if spec.line else ""
    return f"{owner(spec)}{place}"


def _near(specs: Sequence[SpecUnreadable]) -> str:
    """What stands there, as long as it is one place only."""
    one = len(specs) == 1 and specs[0].excerpt
    return f" near `{shown(specs[0].excerpt.strip())}`" if one else ""


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
)
