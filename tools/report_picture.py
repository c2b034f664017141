"""Draws docs/report.png: the HTML report of a folder of logs, as a browser shows it."""

import subprocess
import sys
import tempfile
from pathlib import Path

BROWSER = "chromium"
SIZE = "1040,1250"
TARGET = Path(__file__).parent.parent / "docs" / "report.png"
QUIETLY = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)


def main() -> None:
    """`tools/report_picture.py LOGS…`: the logs of a run in which one task fails first."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        ask = ("diagnose", "--format", "html", "--output", str(page), *sys.argv[1:])
        subprocess.run([sys.executable, "-m", "holdfast", *ask], check=False)
        profile = f"--user-data-dir={folder}/profile"
        shot = (profile, f"--window-size={SIZE}", f"--screenshot={TARGET}", page.as_uri())
        subprocess.run([BROWSER, *QUIETLY, *shot], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
