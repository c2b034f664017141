"""Fuzzes the reader of cluster definitions and every cause that judges them.

`python bench/fuzz_spec.py --minutes 10 --seed 1`: arbitrary texts, valid definitions with random
damage, and hostile structures. Fails on any exception, and on any input that takes over a second.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from holdfast.diagnose import diagnose
from holdfast.model.codec import decode, encode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead, SpecUnreadable
from holdfast.model.spec import claimed, members, read_spec

INPUT_S_MAX = 1.0
ROLES = ("worker", "chief", "ps", "evaluator", "master", "wroker", "../x", "a\nb", "", "W")
ADDRESSES = (
    *(
        "host-a:2222",
        "host-b:2222",
        "localhost:1",
        "0.0.0.0:2",
        "[::1]:3",
        "::1:4",
        "h",
        "",
        " h:1 ",
    ),
    *("h:99999", "grpc://h:1", "h:1/x", "h\x00:1", "\ud800:1", "x" * 400, "h:40000", "300.1.1.1:1"),
)
INDICES: tuple[Any, ...] = (0, 1, "1", -1, 10**30, True, None, 1.5, "one", "", " 0 ", "٣")
SCRAPS = (
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "'",
    "\\",
    "\n",
    "\x00",
    "null",
    "NaN",
    "1e999",
    "\ud800",
)
HOSTILE = (
    *("[" * 100_000, '{"a":' * 50_000, "{" * 5_000_000, " " * 4_000_000, '"' * 4_000_000),
    *("{'a': " + "-" * 200_000 + "1}", "{" + "(" * 10_000 + "}", "{1" + "+1" * 60_000 + "}"),
    *("{" + " " * 4_000_000 + "x", '{"a": ' + "9" * 1_000_000 + "}", "\\" * 1_000_000),
    '{"cluster": {"worker": [' + '"h:1", ' * 19_998 + '"h:1"]}}',
    '{"cluster": {"worker": [' + '"h:1", ' * 19_998 + "1]}}",
    '{"cluster": {' + ", ".join(f'"r{i}": ["h:{i}"]' for i in range(19_000)) + "}}",
    '{"cluster": {"worker": {' + ", ".join(f'"{i}": "h{i}:1"' for i in range(19_000)) + "}}}",
    "{'cluster': {'worker': [" + "'h:1', " * 19_998 + "]}}",
    "'" + '{"cluster": {"worker": [' + '"h:1", ' * 90_000 + '"h:1"]}}' + "'",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    ends_s = time.monotonic() + asked.minutes * 60
    tried, slowest_s = 0, 0.0
    mistakes: Counter[str] = Counter()
    for text in HOSTILE:
        slowest_s = max(slowest_s, judged([text], mistakes))
        tried += 1
    while time.monotonic() < ends_s:
        texts = [chance.choice(KINDS)(chance) for _ in range(chance.randint(1, 4))]
        slowest_s = max(slowest_s, judged(texts, mistakes))
        tried += len(texts)
    print(f"{tried} texts, the slowest took {slowest_s:.3f} s; nothing was raised")
    print(", ".join(f"{name} {count}" for name, count in mistakes.most_common()))


def judged(texts: list[str], mistakes: Counter[str]) -> float:
    """Reads the texts and diagnoses them together; how long that took."""
    began_s = time.process_time()
    facts = [read_spec(text, source=f"{number}.json") for number, text in enumerate(texts)]
    for fact in facts:
        mistakes[fact.mistake if isinstance(fact, SpecUnreadable) else "readable"] += 1
        if isinstance(fact, SpecRead):
            members(fact)
            claimed(fact)
        assert decode(encode(fact)) == fact, repr(fact)[:500]
    diagnosis = diagnose(Evidence(facts))
    took_s = time.process_time() - began_s
    shown = [text[:500] for text in texts]
    if diagnosis.broken:
        sys.exit(f"{diagnosis.broken} on {shown!r}")
    if any("\n" in finding.proof.says for finding in diagnosis.findings):
        sys.exit(f"more than one line is said of {shown!r}")
    if took_s > INPUT_S_MAX * len(texts):
        sys.exit(f"{took_s:.2f} s for {shown!r}")
    return took_s / len(texts)


def arbitrary(chance: random.Random) -> str:
    return "".join(
        chance.choice(SCRAPS) if chance.random() < 0.5 else chr(chance.randrange(0x110000))
        for _ in range(chance.randrange(60))
    )


def written(chance: random.Random) -> str:
    """A definition, mostly of the right shape."""
    cluster: dict[str, Any] = {}
    for role in chance.sample(ROLES, chance.randrange(4)):
        addresses = chance.choices(ADDRESSES, k=chance.randrange(5))
        sparse = {str(chance.choice(INDICES)): each for each in addresses}
        cluster[role] = chance.choice((addresses, addresses, sparse, "h:1", None))
    task = {"type": chance.choice(ROLES), "index": chance.choice(INDICES)}
    whole = {"cluster": cluster, "task": task}
    if chance.random() < 0.1:
        whole.pop(chance.choice(("cluster", "task")))
    return str(whole) if chance.random() < 0.1 else json.dumps(whole)


def damaged(chance: random.Random) -> str:
    text = written(chance)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text) + 1)
        cut = chance.choice((0, 0, 1, 5, len(text)))
        text = text[:at] + chance.choice((*SCRAPS, "")) + text[at + cut :]
    return text


def nested(chance: random.Random) -> str:
    depth = chance.randrange(3_000)
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}"), ('{"cluster":', "}")))
    return opening * depth + "1" + closing * (depth - chance.randrange(2))


KINDS: tuple[Callable[[random.Random], str], ...] = (arbitrary, written, written, damaged, nested)

if __name__ == "__main__":
    main()
