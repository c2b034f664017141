"""Renews requirements.lock: the exact versions, with hashes, of what `make env` installs."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
HEADER = "# Exact versions of everything that `make env` installs. Renew with `make lock`.\n"
COMPILE = (
    *("--quiet", "--generate-hashes", "--no-strip-markers", "--no-header", "--no-annotate"),
    *("--python", sys.executable),
)


def main() -> None:
    """What is locked stays as it is where it still fits; `--upgrade` takes the newest of all."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *about["project"]["dependencies"],
        *about["dependency-groups"]["dev"],
        *about["build-system"]["requires"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "wanted.in").write_text("\n".join(wanted) + "\n")
        found = place / "found.txt"
        found.write_text(LOCK.read_text())
        given = (*COMPILE, *sys.argv[1:], "-o", str(found), str(place / "wanted.in"))
        subprocess.run([sys.executable, "-m", "uv", "pip", "compile", *given], check=True)
        lines = [line for line in found.read_text().splitlines() if not line.startswith("#")]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
