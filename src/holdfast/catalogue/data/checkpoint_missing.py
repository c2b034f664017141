"""The checkpoint that the program wants to restore is not there, or is no checkpoint.

## What you see
`Failed to find any matching files for ...`, `The passed save_path is not a valid checkpoint`,
`Can't load save_path when it is None`, `SavedModel file does not exist at`, `not an sstable (bad
magic number)`, or a model's folder that `does not appear to have a file named config.json`.

## Why it happens
A wrong path or step number, a name with its suffix (`.data-00000-of-00001` is no checkpoint's
name, `model.ckpt-1000` is), a folder that only one host has, a checkpoint that was deleted by
`max_to_keep` or never completed.

## How to confirm it by hand
`ls FOLDER` on the host of the task, and `python -c "import tensorflow as tf;
print(tf.train.latest_checkpoint('FOLDER'))"`.

## What to do
Give the prefix that `tf.train.latest_checkpoint` prints, on a file system that all hosts share;
start afresh if there is none.

## When this accusation would be wrong
When the program looks for a checkpoint, finds none, and starts afresh, as Estimators do.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

ABSENT = Pattern(
    r"Failed to (?:find any|get) matching files (?:for|on) |Unsuccessful TensorSliceReader constr"
    r"|save_path is not a valid checkpoint: |Can't load save_path when it is None"
    r"|SavedModel file does not exist at:|Couldn't find 'checkpoint' file or checkpoints in"
    r"|Could not find (?:a )?checkpoint (?:at|in) "
    r"|[Nn]o checkpoint (?:found|files found) (?:at|in) "
    r"|Unable to open table file .*(?:[Nn]ot found|No such file)|[Cc]heckpoint not found"
    r"|Restore called with invalid save path|No valid checkpoint found in"
    r"|[Cc]an't find a valid checkpoint at|[Uu]nable to find latest file at"
    r"|FileNotFoundError: .*(?:ckpt|checkpoint|\.pth?\b|\.safetensors)"
    r"|[Cc]heckpoint (?:\w+ )?(?:file|path|directory|folder).*(?:not found|does not exist)"
    r"|[Cc]heckpoint \S* ?does not exist\b|Error no file named .* found in directory"
)
NO_MODEL = Pattern(
    r"Error: (?:\S*/)?(?P<culprit>[^/\s]+)/? does not appear to have (?:a|any) files? named"
    r"|Can't load (?:the configuration|the model|tokenizer|weights) (?:of|for) '"
    r"|[Ii]s not a local folder and is not a valid model identifier"
    r"|(?:NotFoundError|OpError): \S+\.(?:data-\d+-of-\d+|index); No such file"
    r"|File not found: filepath=\S+\.keras|Unable to load weights from .* checkpoint file"
)
NOT_A_CHECKPOINT = Pattern(
    r"not an sstable \(bad magic number\)|file is too short to be an sstable"
    r"|perhaps your file is in a different file format and you need"
    r"|Unable to open table file \S+: (?:Data loss|DATA_LOSS|FAILED_PRECONDITION|Failed precond)"
)
NAMED = Pattern(
    r"(?:Failed to (?:find any|get) matching files (?:for|on)|SavedModel file does not exist at:"
    r"|save_path is not a valid checkpoint:|Could not find (?:a )?checkpoint (?:at|in)"
    r"|Couldn't find 'checkpoint' file or checkpoints in(?: given directory)?"
    r"|[Nn]o checkpoint (?:found|files found) (?:at|in)|No valid checkpoint found in"
    r"|[Cc]an't find a valid checkpoint at|[Uu]nable to find latest file at)"
    r" [\"']?(?P<culprit>[^\s\"';,]*[^\s\"';,:.])"
)
TABLE = Pattern(
    r"Unable to open table file (?P<culprit>[^\s:;]+)[:;].*(?:[Nn]ot found|No such file)"
)
# A server of models looks again and again, until one is there.
BASE_PATH = Pattern(
    r"(?:No versions of servable \S+ found under|Could not find) base path (?P<culprit>\S+)"
)
ON_HDFS = Pattern(r"hdfs://")
STARTS_AFRESH = Pattern(
    r"(?i:start(?:ing)? (?:from scratch|afresh|training)|from scratch|running initialization"
    r"|\bcreat(?:ing|ed)\b|initiali[sz]ing)"
    r"|^(?:\S+ )*INFO\b"
)
SAYS = "{who}: there is no such checkpoint: {line}"

cause = Cause(
    family="checkpoint-mismatch",
    words=(
        Words(NAMED, says=SAYS, unless=STARTS_AFRESH, of_speaker=True),
        Words(TABLE, says=SAYS, of_speaker=True),
        Words(BASE_PATH, Weight.SIGN, says=SAYS, unless=ON_HDFS, last=True),
        Words(ABSENT, says=SAYS, unless=STARTS_AFRESH),
        Words(NO_MODEL, says=SAYS),
        Words(NOT_A_CHECKPOINT, says=SAYS),
    ),
    do=(
        "look for it on that host: ls FOLDER; tf.train.latest_checkpoint('FOLDER')",
        "give its name without .index or .data-00000-of-00001, on storage that all hosts share",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"checkpoint-not-shared"}),
)
