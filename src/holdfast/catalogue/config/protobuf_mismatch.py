"""The installed protobuf does not fit the code that was generated for another one.

## What you see
`Descriptors cannot be created directly`, `Detected incompatible Protobuf Gencode/Runtime versions`,
`This program requires version 3.9.2 of the Protocol Buffer runtime library`, or
`'MessageFactory' object has no attribute 'GetPrototype'`, at the import.

## Why it happens
Another package pulled a newer or older protobuf in than TensorFlow was built with, or two copies of
the C++ library are loaded into one process.

## How to confirm it by hand
`python -m pip check; python -m pip show protobuf tensorflow | grep -e Name -e Version`.

## What to do
Install the version that TensorFlow asks for, for instance `pip install 'protobuf<4'` for TensorFlow
before 2.12, and pin it.

## When this accusation would be wrong
A warning that one minor version differs is only a warning: the program then goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="version-mismatch",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"cannot import name '\w+' from 'google\.protobuf")),
        Words(Pattern(r"Descriptors cannot (?:not )?be created directly")),
        Words(
            Pattern(r"VersionError: Detected (?:incompatible|mismatched) Protobuf Gencode/Runtime")
        ),
        Words(Pattern(r"requires version [\d.]+ of the Protocol Buffer runtime library")),
        Words(Pattern(r"compiled against version [\d.]+ of the Protocol Buffer runtime")),
        Words(Pattern(r"'MessageFactory' object has no attribute 'GetPrototype'")),
        Words(
            Pattern(
                r"module 'google\.protobuf\.\w+' has no attribute|google\.protobuf[^\n]*builder"
            )
        ),
        Words(Pattern(r"Couldn't build proto file into descriptor pool"), Weight.SIGN),
        Words(Pattern(r"generated_database_->Add|File already exists in database: "), Weight.SIGN),
    ),
    do=(
        "see what is installed: python -m pip check; python -m pip show protobuf tensorflow",
        "install the version that the message asks for, and pin it",
    ),
)
