"""Scores what `diagnose` says of real logs: `python -m bench.accuracy --corpus FILE|FOLDER`.

FILE holds one JSON object a line: id, label (a family), culprit, log. FOLDER holds one folder a
case, with the logs of every task and a case.json. A case of FILE is right when the first
finding's family is the label; `benign-noise` when there is no error; `unknown` when the verdict is
cannot-tell, or the first finding is at most likely. A case of FOLDER is right when the first
family is one of those expected, and the culprit, where logs can name one, is the one expected.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from holdfast.diagnose import diagnose, words_to_hear
from holdfast.logs.read import read
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Confidence, Diagnosis, Severity, Verdict
from holdfast.model.hearing import hear_text, settle
from holdfast.model.pattern import AnyOf


@dataclass(slots=True)
class Scored:
    """One case, and what was said of it."""

    case: str
    families: list[str]
    wanted: str
    told: list[str]
    culprits: list[str]
    wants_culprit: str
    right: bool
    culprit_right: bool | None = None
    alarm: bool = False
    says: str = ""


def main() -> int:
    asked = _asked()
    if asked.corpus.is_dir():
        rows = list(_folders(asked.corpus, asked.only))
    else:
        rows = list(_cases(asked.corpus, asked.only, asked.part))
    for row in rows:
        if asked.all or not row.right or row.culprit_right is False or row.alarm:
            print(_line(row))
    return conclude(rows)


def _cases(corpus: Path, only: str, part: str) -> Iterator[Scored]:
    with corpus.open() as lines:
        for text in lines:
            case = json.loads(text)
            if only and not re.search(only, f"{case['id']} {case['label']}"):
                continue
            late = int(sha256(case["id"].encode()).hexdigest(), 16) % 2 == 1
            if part and (part == "second") is not late:
                continue
            yield score_case(case, judge(case["log"].encode()))


def _folders(corpus: Path, only: str) -> Iterator[Scored]:
    for folder in sorted(corpus.iterdir()):
        if not folder.is_dir() or (only and not re.search(only, folder.name)):
            continue
        case = json.loads((folder / "case.json").read_text())
        told = diagnose(Evidence(read([str(folder)], jobs=1).facts))
        yield score_folder(folder.name, case["expect"], told)


def judge(log: bytes) -> Diagnosis:
    """One log alone; its name tells nothing."""
    return diagnose(Evidence(settle([hear_text("job.log", log, telling())])))


@cache
def telling() -> AnyOf:
    return AnyOf(words_to_hear())


def score_case(case: dict[str, Any], told: Diagnosis) -> Scored:
    label = case["label"]
    families = [finding.cause.family for finding in told.findings]
    errors = [one for one in told.findings if one.severity is Severity.ERROR]
    if label == "benign-noise":
        right = not errors
    elif label == "unknown":
        unsure = (Confidence.LIKELY, Confidence.GUESS)
        right = told.verdict is Verdict.CANNOT_TELL or (
            bool(errors) and errors[0].proof.confidence in unsure
        )
    else:
        right = bool(families) and families[0] == label
    culprits = _culprits(told)
    wanted = case.get("culprit") or ""
    first = told.findings[0] if told.findings else None
    return Scored(
        case=case["id"],
        families=families,
        wanted=label,
        told=[finding.name for finding in told.findings],
        culprits=culprits,
        wants_culprit=wanted,
        right=right,
        culprit_right=is_named(wanted, culprits[0] if culprits else "") if wanted else None,
        alarm=label == "benign-noise" and bool(errors),
        says=first.proof.says if first else "",
    )


def score_folder(name: str, expect: dict[str, Any], told: Diagnosis) -> Scored:
    errors = [one for one in told.findings if one.severity is Severity.ERROR]
    families = [one.cause.family for one in told.findings]
    wanted = expect["families"]
    right = families[0] in wanted if wanted and families else not wanted and not errors
    culprits = _culprits(told)
    meant = expect["culprits"]
    return Scored(
        case=name,
        families=families,
        wanted=",".join(wanted) or "benign-noise",
        told=[one.name for one in told.findings],
        culprits=culprits,
        wants_culprit=",".join(meant),
        right=right,
        culprit_right=(bool(culprits) and culprits[0] in meant) if meant else None,
        alarm=not wanted and bool(errors),
        says=told.findings[0].proof.says if told.findings else "",
    )


def _culprits(told: Diagnosis) -> list[str]:
    return [str(one.proof.culprit or one.proof.place or "") for one in told.findings]


def is_named(wanted: str, told: str) -> bool:
    """Whether a culprit in free words is the one told: one of its names stands in it."""
    names = {_plain(name) for name in re.split(r"[,()]| and | vs | on ", wanted)} - {""}
    said = _plain(told)
    # `train.py --task_index=3` is a task, whatever its job is called.
    if index := re.search(r"--task_index[= ](\d+)", wanted):
        names |= {f"{job} {index.group(1)}" for job in ("worker", "ps", "chief", "rank")}
    return bool(said) and any(_stands_in(said, name) or _stands_in(name, said) for name in names)


def _stands_in(name: str, text: str) -> bool:
    """Whether it is there as a whole: `rank 1` is not in `rank 12`."""
    first, last = (r"\d" if char.isdigit() else "[a-z]" for char in (name[:1], name[-1:]))
    return re.search(rf"(?<!{first}){re.escape(name)}(?!{last})", text) is not None


def _plain(name: str) -> str:
    """`/job:worker/replica:0/task:3`, `worker 3` and `worker:3` are one name.

    So are `a.py:9` and `a.py line 9`, and a notebook's cell with or without its number.
    """
    name = re.sub(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)", r"\1:\2", name.lower())
    name = re.sub(r"<ipython-input-[^>]*>|\bcell \d+(?=,? line)", "cell", name)
    name = re.sub(r"\bline (?=\d)", "", name)
    return re.sub(r"[\s:/\\#=_-]+", " ", name).strip()


def conclude(rows: list[Scored]) -> int:
    right = sum(row.right for row in rows)
    named = [row for row in rows if row.culprit_right is not None]
    alarms = sum(row.alarm for row in rows)
    calm = sum(row.wanted == "benign-noise" for row in rows)
    third = sum(row.right or row.wanted in row.families[:3] for row in rows)
    for family, total in sorted(Counter(row.wanted for row in rows).items()):
        of_it = [row for row in rows if row.wanted == family]
        hit = sum(row.right for row in of_it)
        missed = Counter((row.families or ["nothing"])[0] for row in of_it if not row.right)
        also = ", ".join(f"{name} {count}" for name, count in missed.most_common())
        print(f"{hit:4} of {total:3}  {family[:60]:60} {also}")
    print(
        f"top-1 {right} of {len(rows)} ({right / max(len(rows), 1):.1%}), top-3 {third},"
        f" wrong accusations {alarms} of {calm},"
        f" culprit {sum(bool(row.culprit_right) for row in named)} of {len(named)}"
    )
    return 0 if right == len(rows) else 1


def _line(row: Scored) -> str:
    word = "right" if row.right else "WRONG"
    missed = f" culprit {row.culprits[:1]} not {row.wants_culprit}"
    who = missed if row.culprit_right is False else ""
    return f"{word} {row.case}: wanted {row.wanted}, told {row.told[:4]}{who} | {row.says[:110]}"


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="a .jsonl file, or a folder")
    parser.add_argument("--only", default="", help="cases whose name or label match this")
    parser.add_argument("--part", default="", choices=["", "first", "second"])
    parser.add_argument("--all", action="store_true", help="show the right ones, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
