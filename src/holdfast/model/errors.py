"""The one error tree: an exception means that we, or the user's input, went wrong.

A training that fails is never an exception; it is data, a `Finding`.

HoldfastError            exit code
├── UsageError                2   the command line asks for something that cannot be
├── BadInput                 65   a file's content is wrong
├── MissingInput             66   a file that should be there is not, or cannot be read
├── NotOurs                  73   we would have to write where somebody else's files are
├── StorageFailed            74   reading or writing failed: full, read-only, broken
├── Forbidden                77   the rights are missing
├── BadJob                   78   the job's description is wrong
└── Unreachable              69   the supervisor of a run does not answer
"""


class HoldfastError(Exception):
    """What happened and where; `do` says what to do next."""

    exit_code = 70

    def __init__(self, message: str, *, do: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.do = do


class UsageError(HoldfastError):
    exit_code = 2


class BadInput(HoldfastError):  # noqa: N818 - reads as what it says
    exit_code = 65


class MissingInput(HoldfastError):  # noqa: N818
    exit_code = 66


class NotOurs(HoldfastError):  # noqa: N818
    exit_code = 73


class StorageFailed(HoldfastError):  # noqa: N818
    exit_code = 74


class Forbidden(HoldfastError):  # noqa: N818
    exit_code = 77


class BadJob(HoldfastError):  # noqa: N818
    exit_code = 78


class Unreachable(HoldfastError):  # noqa: N818
    exit_code = 69
