"""Which batches a dataset takes, and which it refuses with a sentence."""

from typing import Any

import numpy as np
import pytest

from holdfast.rows.errors import Refused
from holdfast.rows.schema import Dataset, declared, taken_from


def dataset(dtype: Any, shape: tuple[int, ...] = ()) -> Dataset:
    return declared(0, "metrics/loss", dtype=dtype, shape=shape)


class Tensor:
    """As JAX and TensorFlow have them: no ndarray, but it can become one."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._values


@pytest.mark.parametrize(
    ("dtype", "batch", "kept"),
    [
        ("f4", 0.1, [np.float32(0.1)]),
        ("f4", [1, 2], [1, 2]),
        ("f4", [1, 0.5], [1, 0.5]),
        ("f4", [float("nan"), float("inf")], [np.nan, np.inf]),
        ("f8", 2**53, [2**53]),
        ("c8", [1, 1j], [1, 1j]),
        ("i1", [-128, 127], [-128, 127]),
        ("u8", [0, 2**64 - 1], [0, 2**64 - 1]),
        ("i4", [], []),
        ("?", True, [True]),
        ("?", [True, False], [True, False]),
        ("f2", np.float16(1), [1]),
        ("f4", Tensor(np.ones(2, "f4")), [1, 1]),
        ("f4", np.ones(2, ">f4"), [1, 1]),
        (">i2", np.ones(2, "i2"), [1, 1]),
        ("S3", np.array([b"abc"]), [b"abc"]),
        ("f4", np.arange(6, dtype="f4")[::2], [0, 2, 4]),
    ],
)
def test_takes_what_fits(dtype: Any, batch: Any, kept: list[Any]) -> None:
    one = dataset(dtype)
    rows = one.check(batch)
    assert rows.dtype == one.numpy
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, np.array(kept, one.numpy))


@pytest.mark.parametrize(
    ("dtype", "batch"),
    [
        ("f4", np.ones(2)),
        ("f4", np.float64(1)),
        ("f4", [np.float64(1)]),
        ("f4", 1e39),
        ("f4", 2**24 + 1),
        ("f8", [0.5, 2**53 + 1]),
        ("f4", [10**40]),
        ("f4", True),
        ("f4", "1.0"),
        ("f4", None),
        ("f4", 1j),
        ("f4", {"a": 1}),
        ("f4", [[1.0], [2.0, 3.0]]),
        ("f4", np.ones((2, 1), "f4")),
        ("f4", [[1.0]]),
        ("f4", Tensor(np.ones(2))),
        ("f4", np.ma.masked_array(np.ones(2, "f4"), [True, False])),
        ("i4", 0.0),
        ("i4", 2**31),
        ("u1", -1),
        ("u1", np.ones(1, "i1")),
        ("i8", [2**63]),
        ("?", 1),
        ("i4", True),
        ("S3", np.array([b"ab"])),
        ("str", 1.0),
        ("str", [b"bytes"]),
        ("str", ["text", 1]),
        ("str", np.ones(2)),
    ],
)
def test_refuses_what_does_not_fit_and_says_of_which_dataset(dtype: Any, batch: Any) -> None:
    with pytest.raises(Refused, match="metrics/loss") as refused:
        dataset(dtype).check(batch)
    assert refused.value.do


def test_names_what_was_expected_and_got_and_what_to_do() -> None:
    with pytest.raises(Refused) as dtype:
        dataset("f4").check(np.ones(2))
    assert str(dtype.value) == (
        'dataset "metrics/loss" holds float32, got float64; '
        "convert it yourself if that is right: .astype('<f4')"
    )
    with pytest.raises(Refused) as shape:
        dataset("f4", (3,)).check(np.ones(3, "f4"))
    assert str(shape.value) == (
        'dataset "metrics/loss" takes batches of shape (n, 3), got (3,); '
        "for one row give batch[np.newaxis]"
    )


@pytest.mark.parametrize("shape", [(4,), (3,), (3, 1), (3, 4, 1), ()])
def test_broadcasts_nothing(shape: tuple[int, ...]) -> None:
    with pytest.raises(Refused, match="shape"):
        dataset("f4", (4,)).check(np.ones(shape, "f4"))


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_refuses_text_that_hdf5_would_cut(text: str) -> None:
    one = dataset("str")
    with pytest.raises(Refused, match="metrics/loss"):
        one.pack(one.check([text]))


@pytest.mark.parametrize(
    ("batch", "dtype", "row_shape"),
    [
        (0.5, "<f8", ()),
        (3, "<i8", ()),
        (True, "|b1", ()),
        ("text", "str", ()),
        ([["a", "b"]], "str", (2,)),
        (np.array(["a"]), "str", ()),
        (np.array(["a"], object), "str", ()),
        (np.ones((5, 2, 3), ">f4"), "<f4", (2, 3)),
        (np.ones((0, 2), "u1"), "|u1", (2,)),
        (np.ones(2, [("a", ">f4"), ("b", "i2", (2,))]), [["a", "<f4"], ["b", "<i2", [2]]], ()),
    ],
)
def test_the_first_batch_sets_the_schema(batch: Any, dtype: Any, row_shape: Any) -> None:
    found = taken_from(0, "x", batch)
    assert (found.dtype, found.row_shape) == (dtype, row_shape)
    assert Dataset.from_json(found.to_json()) == found


def test_a_padded_compound_is_kept_packed() -> None:
    padded = np.dtype([("flag", "u1"), ("value", "f8")], align=True)
    batch = np.array([(1, 2.5)], padded)
    found = taken_from(0, "x", batch)
    assert padded.itemsize == 16
    assert found.row_bytes == 9
    assert found.check(batch).tolist() == [(1, 2.5)]


@pytest.mark.parametrize(
    "dtype",
    ["M8[s]", "m8[ns]", object, "V2", np.longdouble, np.clongdouble, "S", [("a", "M8[s]")],
     [("a", object)], "nonsense", np.dtype([])],
)  # fmt: skip
def test_refuses_dtypes_that_hdf5_cannot_hold_plainly(dtype: Any) -> None:
    with pytest.raises(Refused, match="metrics/loss") as refused:
        dataset(dtype)
    assert refused.value.do


def test_refuses_bfloat16_with_what_to_do_instead() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes", reason="comes with TensorFlow").bfloat16
    with pytest.raises(Refused, match="float32"):
        taken_from(0, "x", np.ones(2, bfloat16))


@pytest.mark.parametrize("shape", [(0,), (2, 0), (1,) * 17, (2**20, 2**20)])
def test_refuses_row_shapes_without_bound_or_content(shape: tuple[int, ...]) -> None:
    with pytest.raises(Refused):
        dataset("f4", shape)


@pytest.mark.parametrize(
    "attrs",
    [{"a": None}, {"a": {}}, {"a": [1, "x"]}, {"a": b"x"}, {"a": "x" * 50_000}, {"a": "\0"},
     {"a": 2**64}, {"a": [[1], [2, 3]]}, {"": 1}, {"a": []}, {"_holdfast": 1}],
)  # fmt: skip
def test_refuses_attributes_that_hdf5_cannot_hold(attrs: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="attribute"):
        declared(0, "x", dtype="f4", attrs=attrs)


@pytest.mark.parametrize(
    "found",
    [{}, [], None, {"id": 0, "name": "../x", "dtype": "<f4", "shape": []},
     {"id": -1, "name": "x", "dtype": "<f4", "shape": []},
     {"id": 0, "name": "x", "dtype": "O", "shape": []},
     {"id": 0, "name": "x", "dtype": ">f4", "shape": []},
     {"id": 0, "name": "x", "dtype": 4, "shape": []},
     {"id": 0, "name": "x", "dtype": [[[[]]]], "shape": []},
     {"id": 0, "name": "x", "dtype": "<f4", "shape": [2.5]},
     {"id": 0, "name": "x", "dtype": "<f4", "shape": [1 << 31, 1 << 31]},
     {"id": 0, "name": "x", "dtype": "<f4", "shape": [], "compression": ["gzip"]},
     {"id": 0, "name": "x", "dtype": "<f4", "shape": [], "chunk_rows": -4},
     {"id": 0, "name": "x", "dtype": "<f4", "shape": [], "attrs": {"a": None}}],
)  # fmt: skip
def test_believes_no_declaration_that_we_would_not_write(found: Any) -> None:
    with pytest.raises(Refused):
        Dataset.from_json(found)
