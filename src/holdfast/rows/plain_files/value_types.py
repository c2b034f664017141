"""Types of HDF5: whether values are of fixed size, lead elsewhere, are alike; and in words."""

from typing import Any

from holdfast.rows import storage

OBJECTS, REGIONS, OTHER_REFERENCES = "object references", "region references", "references inside"


def is_variable(kind: Any) -> bool:
    """Whether values are kept apart from their rows: text and lists of any length."""
    h5t = storage.hdf5().h5t
    match kind.get_class():
        case h5t.VLEN:
            return True
        case h5t.STRING:
            return bool(kind.is_variable_str())
        case h5t.ARRAY:
            return is_variable(kind.get_super())
        case h5t.COMPOUND:
            return any(is_variable(kind.get_member_type(n)) for n in range(kind.get_nmembers()))
        case _:
            return False


def references_in(kind: Any) -> str:
    """Which references its values are, or have inside; "" for none."""
    h5t = storage.hdf5().h5t
    if kind.get_class() == h5t.REFERENCE:
        if kind.equal(h5t.STD_REF_OBJ):
            return OBJECTS
        return REGIONS if kind.equal(h5t.STD_REF_DSETREG) else OTHER_REFERENCES
    return OTHER_REFERENCES if kind.detect_class(h5t.REFERENCE) else ""


def encoded(kind: Any) -> bytes:
    """The type without its name and its file; it is decoded where it is needed."""
    return bytes(kind.copy().encode())


def decoded(content: bytes) -> Any:
    return storage.hdf5().h5t.decode(content)


def are_alike(one: bytes, other: bytes) -> bool:
    return one == other or bool(decoded(one).equal(decoded(other)))


def told(kind: Any) -> str:
    """In words that tell two different types apart, where short ones can."""
    h5t = storage.hdf5().h5t
    match kind.get_class():
        case h5t.STRING if kind.is_variable_str():
            return f"text ({_charset(kind)})"
        case h5t.STRING:
            return f"text of {kind.get_size()} bytes ({_charset(kind)})"
        case h5t.VLEN:
            return f"lists of {told(kind.get_super())}"
        case h5t.ENUM:
            names = [
                f"{kind.get_member_name(n).decode(errors='replace')}={kind.get_member_value(n)}"
                for n in range(min(kind.get_nmembers(), 8))
            ]
            return f"enum {told(kind.get_super())} ({', '.join(names)})"
        case h5t.ARRAY:
            return f"{' x '.join(map(str, kind.get_array_dims()))} of {told(kind.get_super())}"
        case h5t.COMPOUND:
            fields = [
                f"{kind.get_member_name(n).decode(errors='replace')}: "
                f"{told(kind.get_member_type(n))}"
                for n in range(min(kind.get_nmembers(), 8))
            ]
            return f"{kind.get_size()} bytes of ({', '.join(fields)})"
        case h5t.REFERENCE:
            return references_in(kind)
        case _:
            return _number(kind)


def _number(kind: Any) -> str:
    try:
        dtype = kind.dtype
    except TypeError:
        return f"type class {kind.get_class()} of {kind.get_size()} bytes"
    return f"{dtype.newbyteorder('=')}{' (big-endian)' if dtype.byteorder == '>' else ''}"


def _charset(kind: Any) -> str:
    return "UTF-8" if kind.get_cset() == storage.hdf5().h5t.CSET_UTF8 else "ASCII"
