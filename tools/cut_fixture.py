"""Print a run's journal as fixture lines: one fact a line, without traces of this machine."""

import argparse
import getpass
import json
import re
from pathlib import Path
from typing import Any

from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.codec import encode
from holdfast.model.facts import Fact

HOST = "host-a"
AT_S_DIGITS = 3
REPOSITORY = Path(__file__).resolve().parent.parent


def main() -> None:
    asked = _arguments()
    run_dir = open_run_dir(asked.run_dir)
    facts = read_journal(run_dir).facts
    neutral = _neutral_words(run_dir.path, {fact.host for fact in facts})
    for fact in facts:
        if _is_wanted(fact, tasks=asked.only, kinds=asked.kinds):
            print(fixture_line(fact, neutral))


def fixture_line(fact: Fact, neutral: dict[str, str]) -> str:
    """The fact as `codec.encode` writes it, with neutral names and a short time."""
    record: dict[str, Any] = json.loads(encode(fact))
    record["at_s"] = round(record["at_s"], AT_S_DIGITS)
    if "user" in record:
        record["user"] = "user"
    return json.dumps(_renamed(record, neutral), ensure_ascii=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--only", action="append", metavar="TASK", help="facts about this task")
    parser.add_argument("--kinds", type=_names, metavar="KIND,KIND", help="only these facts")
    return parser.parse_args()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split(","))


def _is_wanted(fact: Fact, *, tasks: list[str] | None, kinds: frozenset[str] | None) -> bool:
    """Facts about no task belong to the story of every task."""
    about_it = not tasks or fact.task is None or str(fact.task) in tasks
    return about_it and (not kinds or type(fact).__name__ in kinds)


def _neutral_words(run_dir: Path, hosts: set[str]) -> dict[str, str]:
    """What to write instead of what: longer names first, for they may contain shorter ones."""
    words = {
        str(run_dir): "/data/run",
        str(REPOSITORY / ".venv"): "/home/user/venv",
        str(REPOSITORY / "bench" / "workloads"): "/home/user/train",
        str(REPOSITORY): "/home/user/holdfast",
        str(REPOSITORY.parent): "/data",
        str(Path.home()): "/home/user",
        f"/home/{getpass.getuser()}": "/home/user",
        **dict.fromkeys(hosts, HOST),
    }
    return dict(sorted(words.items(), key=lambda pair: -len(pair[0])))


def _renamed(value: Any, neutral: dict[str, str]) -> Any:
    if isinstance(value, str):
        for ours, theirs in neutral.items():
            value = re.sub(rf"(?<![\w-]){re.escape(ours)}(?![\w-])", theirs, value)
        return value
    if isinstance(value, list):
        return [_renamed(item, neutral) for item in value]
    if isinstance(value, dict):
        return {key: _renamed(item, neutral) for key, item in value.items()}
    return value


if __name__ == "__main__":
    main()
