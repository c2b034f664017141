"""Draws docs/picture.svg: the end of a real failing run, as a terminal shows it."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100
TARGET = Path(__file__).parent.parent / "docs" / "picture.svg"


def main() -> None:
    """`tools/picture.py RUN_DIR`: the run of the demo that exits with 137 is a good one."""
    run_dir = sys.argv[1]
    shown = subprocess.run(
        [sys.executable, "-m", "holdfast", "diagnose", run_dir],
        check=False,
        capture_output=True,
        text=True,
        env={"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "PATH": "/usr/bin:/bin"},
    ).stdout
    console = Console(record=True, width=WIDTH, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123 - one-shot script
    console.print(Text.from_ansi(shown.strip()))
    svg = console.export_svg(title="holdfast run --chief --ps 1 --workers 2 -- python train.py")
    TARGET.write_text(without_fonts(svg))


def without_fonts(svg: str) -> str:
    """The picture must not fetch anything when it is looked at."""
    while (start := svg.find("@font-face")) >= 0:
        svg = svg[:start] + svg[svg.index("}", start) + 1 :]
    return svg


if __name__ == "__main__":
    main()
