"""Renews requirements.lock: the exact versions, with hashes, of what `make env` installs."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADER = "# Exact versions of everything that `make env` installs. Renew with `make lock`.\n"
COMPILE = (
    *("--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header"),
    *("--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
)


def main() -> None:
    """Takes minutes: the hashes of every file of every package are looked up."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *about["project"]["dependencies"],
        *about["dependency-groups"]["dev"],
        *about["build-system"]["requires"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
        python = place / "env" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pip-tools"], check=True)
        (place / "wanted.in").write_text("\n".join(wanted) + "\n")
        found = place / "found.txt"
        compiled = ("-o", str(found), str(place / "wanted.in"))
        subprocess.run([python, "-m", "piptools", "compile", *COMPILE, *compiled], check=True)
        lines = [line for line in found.read_text().splitlines() if not line.startswith("#")]
    (ROOT / "requirements.lock").write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
