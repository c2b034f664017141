"""A folder of same-shaped files is our only extension point: the file name is the name."""

import importlib
import pkgutil
from typing import Any


def names(folder: str) -> dict[str, str]:
    """Each member's name and module: `catalogue/network/peer_gone.py` gives `peer-gone`."""
    package = importlib.import_module(folder)
    members: dict[str, str] = {}
    for found in pkgutil.walk_packages(package.__path__, prefix=f"{package.__name__}."):
        if found.ispkg:
            continue
        name = found.name.rpartition(".")[2].replace("_", "-")
        if name in members:
            raise ValueError(f"two files are named {name} under {folder}")
        members[name] = found.name
    return members


def load(folder: str, noun: str) -> dict[str, Any]:
    """Each file's one exported `noun`, under the file's name."""
    return {
        name: getattr(importlib.import_module(module), noun)
        for name, module in names(folder).items()
    }
