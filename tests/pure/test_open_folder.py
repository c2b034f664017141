"""A file in an open folder is found under its own name, and nothing has to be registered."""

from pathlib import Path

import pytest

from holdfast import open_folder


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """An importable folder with a name of its own, so that no test finds another's modules."""
    folder = tmp_path / f"shelf_{abs(hash(request.node.name))}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def put(folder: Path, name: str, noun: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / name).write_text(f"book = {noun!r}\n")


def test_every_file_below_the_folder_is_found_under_its_name(shelf: Path) -> None:
    put(shelf, "red_book.py", "red")
    put(shelf / "upstairs", "blue.py", "blue")
    assert open_folder.load(shelf.name, "book") == {"red-book": "red", "blue": "blue"}
    assert open_folder.names(shelf.name) == {
        "red-book": f"{shelf.name}.red_book",
        "blue": f"{shelf.name}.upstairs.blue",
    }


def test_two_files_of_one_name_are_refused(shelf: Path) -> None:
    put(shelf / "upstairs", "red.py", "red")
    put(shelf / "downstairs", "red.py", "also red")
    with pytest.raises(ValueError, match="two files are named red"):
        open_folder.names(shelf.name)


def test_a_file_without_the_noun_is_an_error_and_not_a_gap(shelf: Path) -> None:
    put(shelf, "red.py", "red")
    with pytest.raises(AttributeError, match="probe"):
        open_folder.load(shelf.name, "probe")
