"""How many files may be open: many for us, who hold three a task; as before for the tasks."""

import contextlib
import resource
from collections.abc import Iterator

FILES_MAX = 16_384  # enough for a job of the largest size, and far from wasteful


def allow_many_files() -> int:
    """Raise our own limit as far as we may; what it was before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft


@contextlib.contextmanager
def files_limited_to(soft: int) -> Iterator[None]:
    """For the moment in which a task is started: it inherits this limit, and not ours."""
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, own[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, own)
