"""The environment variables that decide how gRPC and HDF5 behave, without secrets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.model.facts import EnvironmentSeen
from holdfast.model.redact import redact

ENVIRONMENT_BYTES_MAX = 1 << 20
VALUE_LENGTH_MAX = 4_096
VARIABLES_MAX = 64

_PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "no_proxy", "no_grpc_proxy", "all_proxy")
_NAMES = frozenset(
    {
        *_PROXIES,
        *(name.upper() for name in _PROXIES),
        "TF_CPP_MIN_LOG_LEVEL",
        "HDF5_USE_FILE_LOCKING",
    }
)


def seen_environment(
    environ: Mapping[str, str], where: dict[str, Any], pid: int = 0
) -> EnvironmentSeen:
    """What matters of an environment; a variable that is set but empty matters, too."""
    telling = sorted(name for name in environ if name in _NAMES or name.startswith("GRPC_"))
    variables = {name: redact(environ[name])[:VALUE_LENGTH_MAX] for name in telling[:VARIABLES_MAX]}
    return EnvironmentSeen(variables=variables, pid=pid, **where)


def environment_of(pid: int) -> dict[str, str] | None:
    """What a process was started with; None when we may not look, or it is gone.

    What it has set or deleted since then is not in there.
    """
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            text = file.read(ENVIRONMENT_BYTES_MAX)
    except OSError:
        return None
    pairs = (pair.partition("=") for pair in text.decode(errors="replace").split("\0"))
    return {name: value for name, equals, value in pairs if name and equals}
