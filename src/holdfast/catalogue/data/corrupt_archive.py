"""A compressed file or an array file is damaged or cut off.

## What you see
`BadGzipFile: CRC check failed`, `Not a gzipped file`, `Compressed file ended before the
end-of-stream marker was reached`, `BadZipFile: File is not a zip file`, NumPy's `Failed to read
all data for array`.

## Why it happens
A download or copy that broke off, a disk that was full, a web page saved under the file's name, a
half-written file of a job that was killed.

## How to confirm it by hand
`gzip -t FILE`, `unzip -t FILE` or `tar -tf FILE`; compare `sha256sum` with the source.

## What to do
Delete it, get or write it again. Datasets that are downloaded once are kept in a cache: delete it
there (`~/.keras/datasets`).

## When this accusation would be wrong
When the program tries one format after another and goes on with the next. A PyTorch checkpoint
that is damaged is the cause checkpoint-damaged.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

GZIP = Pattern(
    r"[Nn]ot a gzipped file|CRC check failed 0x|Compressed file ended before the end-of-stream"
    r"|gzip\.BadGzipFile|zlib\.error: Error -\d|unexpected end of file.*gzip"
    r"|gzip: .*(?:unexpected end|crc error)"
    r"|LZMAError: |OSError: Invalid data stream"
)
ARCHIVE = Pattern(
    r"BadZipFile: |zipfile\.BadZipfile: |Bad CRC-32 for file|tarfile\.ReadError: "
    r"|tar: Unexpected EOF"
    r"|End-of-central-directory signature not found"
)
ARRAY = Pattern(
    r"Failed to read all data for array|Failed to interpret file .* as a pickle"
    r"|the magic string is not correct; expected b'.x93NUMPY'|No data left in file"
    r"|EOF: reading (?:array data|magic string|array header)"
    r"|Error tokenizing data\. C error: (?:EOF inside|Buffer overflow)"
    r"|[Pp]arquet file size is \d+ bytes"
    r"|[Pp]arquet magic bytes not found|ArrowInvalid: (?:Not an Arrow file|.*truncated)"
)
OF_A_CHECKPOINT = Pattern(r"(?i)PytorchStreamReader|checkpoint")
SAYS = "{who} met a file that is damaged or cut off: {line}"

cause = Cause(
    family="corrupt-data",
    words=(
        Words(
            Pattern(
                r"ChecksumException|Checksum (?:error|mismatch|failed)"
                r"|(?i:crc mismatch|crc32 mismatch|crc check failed|md5 mismatch|sha256 mismatch"
                r"|hash mismatch|md5sum mismatch)"
            ),
            Weight.SIGN,
            unless=Pattern(r"(?i:warning|retry)"),
        ),
        Words(GZIP, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(ARCHIVE, says=SAYS, unless=OF_A_CHECKPOINT),
        Words(ARRAY, says=SAYS),
    ),
    do=(
        "test the file that the traceback reads: gzip -t FILE, unzip -t FILE",
        "delete it and get it again; compare sha256sum with the source",
    ),
    remedy=AskHuman(),
)
