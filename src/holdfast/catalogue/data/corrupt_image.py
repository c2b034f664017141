"""An image of the input cannot be decoded.

## What you see
`Invalid JPEG data or crop window`, `Unknown image file format. One of JPEG, PNG, GIF, BMP
required`, `Invalid PNG data`, PIL's `cannot identify image file` or `image file is truncated`.

## Why it happens
A download that broke off, a web page saved under the name of an image, a format that the decoder
does not know, an empty file.

## How to confirm it by hand
`file PATH` and `python -c "from PIL import Image; Image.open('PATH').verify()"` for the file that
was being read.

## What to do
Take the file out of the dataset or get it again; check the whole dataset once before training.

## When this accusation would be wrong
When the loader leaves such images out on purpose and trains on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

NOT_AN_IMAGE = Pattern(
    r"libpng error: |"
    r"Invalid JPEG data|Unknown image file format|Invalid PNG (?:data|header)"
    r"|Invalid (?:GIF|BMP) data"
    r"|Trying to decode (?:JPEG|PNG|GIF|BMP|\w+) format using|jpeg::Uncompress failed"
    r"|[Ee]xpected image \((?:JPEG|PNG|\w+).*\), got (?:empty|unknown) file"
    r"|cannot identify image file (?:'(?P<culprit>[^']+)')?"
    r"|image file is truncated \(\d+ bytes not processed\)"
    r"|broken (?:PNG|data stream) .*(?:Error|reading)"
    r"|OSError: broken data stream|Truncated File Read"
)
WARNS = Pattern(r"\b(?:[Ii]gnoring|[Ss]kipping|[Ss]kipped)\b|^(?i:warning)")
SAYS = "an image cannot be decoded ({who}): {line}"

cause = Cause(
    family="corrupt-data",
    words=(Words(NOT_AN_IMAGE, says=SAYS, unless=WARNS),),
    do=(
        "find the file that was being read, and look at it: file PATH",
        "take it out of the dataset, or get it again",
    ),
    remedy=AskHuman(),
)
