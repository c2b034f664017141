"""The pages that are made from the catalogue, and the links of all pages."""

import subprocess
import sys
from pathlib import Path

from holdfast.diagnose import catalogue

ROOT = Path(__file__).parent.parent


def test_every_cause_has_a_page_with_an_example_and_no_link_is_broken(tmp_path: Path) -> None:
    made = tmp_path / "causes"
    done = subprocess.run(
        [sys.executable, "-m", "tools.cause_pages", str(made)],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert {page.stem for page in made.iterdir()} == {*catalogue(), "index", "noise"}
    index = (made / "index.md").read_text()
    for name, cause in catalogue().items():
        page = (made / f"{name}.md").read_text()
        assert f"- [{name}]({name}.md): " in index
        assert f"(index.md#{cause.family})" in page
        assert f"[{name}]: " in page.partition("\n## Example: ")[2]


def test_a_link_to_no_file_or_heading_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# A `b`, c\n[x](#a-b-c) [y](b.md#no) [z](no.md) [e](https://e)\n"
    )
    (tmp_path / "b.md").write_text("![p](p.png) [ok](a.md#a-b-c)\n")
    ask = f"from tools.broken_links import *; print(broken_links([Path({str(tmp_path)!r})]))"
    done = subprocess.run(
        [sys.executable, "-c", ask], check=True, capture_output=True, text=True, cwd=ROOT
    )
    broken = [f"{tmp_path}/a.md: b.md#no", f"{tmp_path}/a.md: no.md", f"{tmp_path}/b.md: p.png"]
    assert done.stdout.strip() == repr(broken)
