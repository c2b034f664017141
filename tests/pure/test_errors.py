"""Each kind of error has the exit code that scripts rely on."""

import pytest

from holdfast.model import errors
from holdfast.model.errors import HoldfastError

EXIT_CODES = {
    "HoldfastError": 70,
    "UsageError": 2,
    "BadInput": 65,
    "MissingInput": 66,
    "Unreachable": 69,
    "NotOurs": 73,
    "StorageFailed": 74,
    "Forbidden": 77,
    "BadJob": 78,
}


def test_the_tree_is_the_one_that_is_documented() -> None:
    tree = {
        name: kind.exit_code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, HoldfastError)
    }
    assert tree == EXIT_CODES
    drawn = errors.__doc__ or ""
    for name, code in EXIT_CODES.items():
        assert name in drawn
        assert str(code) in drawn or name == "HoldfastError"


@pytest.mark.parametrize("name", EXIT_CODES)
def test_an_error_says_what_happened_and_what_to_do(name: str) -> None:
    error = vars(errors)[name]("the disk is full", do="free some space")
    assert (str(error), error.message, error.do) == (
        "the disk is full",
        "the disk is full",
        "free some space",
    )
    assert vars(errors)[name]("so it is").do == ""
