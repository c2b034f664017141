"""Plays the situations that users described: `python -m bench.situations`.

Each is a program that a person would write, knows nothing of Holdfast, and is run as a user would
run it. The table says what the user was told, whether that is right, and after how long.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.situations import data, hangs, processes, starts
from bench.situations.situation import Situation, Told

ELSEWHERE = {
    "A6": "needs several hosts",
    "A7": "needs a web server, Prometheus and Grafana",
}


def main() -> int:
    asked = _asked()
    chosen = [one for one in situations() if one.name.startswith(tuple(asked.only or ("",)))]
    if asked.list:
        print("\n".join(f"{one.name:24} {one.must}" for one in chosen))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="holdfast-situations-"))
    wrong = [one.name for one in chosen if not _play(one, folder)]
    for name, why in ELSEWHERE.items():
        print(f"not here {name:24} {why}")
    print(f"{len(chosen)} situations, {len(wrong)} wrong: {' '.join(wrong)} ({folder})")
    return 1 if wrong else 0


def situations() -> tuple[Situation, ...]:
    return (
        *hangs.SITUATIONS,
        *starts.SITUATIONS,
        *data.SITUATIONS,
        *processes.SITUATIONS,
    )


def _play(one: Situation, folder: Path) -> bool:
    if lack := one.lack():
        print(f"not tried {one.name:23} {lack}", flush=True)
        return True
    home = folder / one.name
    home.mkdir()
    began_s = time.monotonic()
    try:
        told = one.play(home)
    except Exception as error:  # noqa: BLE001 - the others are still to be played
        told = Told(f"the bench failed: {error!r}", right=False)
    after = "" if told.after_s is None else f"{told.after_s:.1f} s"
    print(f"{'right' if told.right else 'WRONG':8} {one.name:24} {after:>8}  {told.says}")
    print(f"{'':34}{'':10}({time.monotonic() - began_s:.0f} s)", flush=True)
    return told.right


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("only", nargs="*", help="those whose names begin so")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
