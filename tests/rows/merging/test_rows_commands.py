"""`holdfast merge` and `holdfast rows`: what people and programs are told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from holdfast import rows
from holdfast.cli import holdfast
from holdfast.model.errors import BadInput, HoldfastError, MissingInput, UsageError
from holdfast.rows import sealing

Call = Callable[..., Any]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(holdfast, [str(word) for word in words])


def told(*words: str | Path) -> Any:
    ended = run(*words, "--format", "json")
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    return json.loads(ended.stdout)


def test_merge_without_an_output_makes_the_index(logdir: Path, write: Call) -> None:
    write(logdir)
    ended = run("merge", logdir)
    assert ended.exit_code == 0
    assert "index.h5: 900 rows" in ended.stdout
    assert told("merge", logdir)["rows"]["metrics/loss"] == 180


def test_merge_says_what_is_in_the_file(logdir: Path, tmp_path: Path, write: Call) -> None:
    write(logdir)
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        writer.append("said", ["hello"])
        ended = run("merge", logdir, "-o", tmp_path / "all.h5")
        assert ended.exit_code == 0
        assert "901 rows" in ended.stdout
        assert "snapshot of a log that is still written" in ended.stdout
        again = told("merge", logdir, "-o", tmp_path / "all.h5", "--force", "--order", "time")
        assert again["rows"]["said"] == 181
    assert run("rows", "verify", tmp_path / "all.h5").exit_code == 0


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["merge", "LOGDIR", "-o", "EXISTS"], UsageError),
        (["merge", "LOGDIR", "--force"], UsageError),
        (["merge", "LOGDIR", "-o", "NEW", "--order", "nothing"], UsageError),
        (["merge", "NOWHERE", "-o", "NEW"], MissingInput),
        (["merge", "NOWHERE"], MissingInput),
        (["rows", "ls", "NOWHERE"], MissingInput),
        (["rows", "head", "NOWHERE"], MissingInput),
        (["rows", "head", "LOGDIR", "nothing"], MissingInput),
        (["rows", "verify", "NOWHERE"], MissingInput),
        (["rows", "verify", "EXISTS"], BadInput),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_said_with_a_way_out(
    logdir: Path, tmp_path: Path, write: Call, words: list[str], kind: type[HoldfastError]
) -> None:
    write(logdir, batches=1)
    exists = tmp_path / "exists.h5"
    exists.write_text("mine")
    places = {"LOGDIR": logdir, "EXISTS": exists, "NEW": tmp_path / "new.h5",
              "NOWHERE": tmp_path / "nowhere"}  # fmt: skip
    ended = run(*(places.get(word, word) for word in words))
    assert isinstance(ended.exception, kind)
    assert ended.exception.do
    assert exists.read_text() == "mine"


def test_ls_tells_open_dead_and_sealed_apart(logdir: Path, write: Call) -> None:
    write(logdir)
    sealing.seal_source(logdir / "rows" / "worker-2.0001")
    with rows.open(logdir, task="worker:0", seal="never") as writer:
        writer.append("said", ["hello"])
        states = {one["task"]: one["state"] for one in told("rows", "ls", logdir)}
        assert states == {
            "chief:0": "dead", "worker:0": "open", "worker:2": "sealed", "worker:10": "dead",
        }  # fmt: skip
        shown = run("rows", "ls", logdir).stdout
    assert "worker:0 (incarnation 1" in shown
    assert "metrics/loss" in shown


def test_head_shows_first_rows_of_each_dataset(logdir: Path, write: Call) -> None:
    written = write(logdir)
    (loss,) = told("rows", "head", logdir, "metrics/loss", "-n", "7", "--task", "worker:10")
    assert [row["row"] for row in loss["rows"]] == list(range(7))
    assert loss["rows"][6]["value"] == written["worker:10"]["metrics/loss"][6].tolist()
    ended = run("rows", "head", logdir)
    assert ended.exit_code == 0
    assert "chief:0 ü 0.1" in ended.stdout


def test_verify_names_what_is_wrong_and_exits_with_1(logdir: Path, write: Call) -> None:
    write(logdir)
    made, _ = sealing.seal_folder(logdir)
    assert run("rows", "verify", logdir).exit_code == 0
    content = bytearray(made[0].read_bytes())
    content[-5000] ^= 1
    made[0].write_bytes(content[:-100])
    ended = run("rows", "verify", logdir)
    assert ended.exit_code == 1
    assert f"wrong: {made[0]}" in ended.stdout
    wrong = [one["path"] for one in told("rows", "verify", logdir) if one["wrong"]]
    assert str(made[0]) in wrong
