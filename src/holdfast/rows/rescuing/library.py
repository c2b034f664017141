"""The HDF5 library that h5py brings, asked for what h5py does not offer: opening unclean files.

`h5clear` does the same by the same three calls. `h5clear -s` alone cuts a file that a SWMR writer
left (the end that the file knows of is too low); only together with `--increment=0` it is right.
Everything here runs in processes that may die of it.
"""

import ctypes
import os
from typing import Any

_ID = ctypes.c_int64


def open_unclean(path: str) -> Any:
    """The file for reading, also when it is cut: what is not there reads as zeros."""
    import h5py  # noqa: PLC0415

    fapl = _access(h5py, skip_eof_check=True)
    if hasattr(fapl, "set_file_locking"):
        fapl.set_file_locking(False, True)  # noqa: FBT003 - positions only
    return h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY, fapl=fapl))


def clear_marks(path: str) -> None:
    """Take a dead writer's marks off a file, which must be a copy."""
    import h5py  # noqa: PLC0415

    fapl = _access(h5py, skip_eof_check=True, clear_status_flags=True)
    file = h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDWR, fapl=fapl)
    library = _library()
    library.H5Fincrement_filesize.argtypes = [_ID, ctypes.c_uint64]
    if library.H5Fincrement_filesize(file.id, 0) < 0:
        raise OSError("the HDF5 library could not set the end of the file")
    file.close()


def opened_at(file: Any, address: int) -> Any:
    """The object whose header lies at an address, without any name."""
    import h5py  # noqa: PLC0415

    library = _library()
    library.H5Oopen_by_addr.argtypes = [_ID, ctypes.c_uint64]
    library.H5Oopen_by_addr.restype = _ID
    found = library.H5Oopen_by_addr(file.id.id, address)
    if found < 0:
        raise OSError("nothing can be opened there")
    return h5py.h5i.wrap_identifier(found)


def _access(h5py: Any, **switches: bool) -> Any:
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    library = _library()
    library.H5Pset.argtypes = [_ID, ctypes.c_char_p, ctypes.c_void_p]
    for name, value in switches.items():
        switch = ctypes.c_bool(value)
        if library.H5Pset(fapl.id, name.encode(), ctypes.byref(switch)) < 0:
            raise OSError(f"this HDF5 library does not know {name}")
    return fapl


def _library() -> Any:
    """The one that is loaded already: two in one process would not know each other's files."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            name = path.rpartition("/")[2]
            if name.startswith("libhdf5") and "_hl" not in name:
                return ctypes.CDLL("/" + path)
    raise OSError("h5py's HDF5 library was not found in this process")
