"""What PyTorch, its launcher and Hugging Face's libraries print while all is well."""

from holdfast.model.noise.entry import Noise
from holdfast.model.pattern import Pattern

DEFAULTS = "a setting that nobody chose, and the default that is taken"
AT_THE_END = "what was not tidied up before the program ended"
NO_NAME = "an address without a name, or a host without IPv6: the connection stands all the same"
ADVICE = "advice on the speed or the style of the program"
NEW_HEAD = "a model that is made for fine-tuning: the new layers are meant to be trained"

PYTORCH = (
    Noise(Pattern(r"Setting OMP_NUM_THREADS environment variable for each process"), DEFAULTS),
    Noise(Pattern(r"NOTE: Redirects are currently not supported in"), DEFAULTS),
    Noise(Pattern(r"master_addr is only used for static rdzv_backend"), DEFAULTS),
    Noise(Pattern(r"using (?:best-guess )?GPU \d+ (?:to perform|as device used by)"), DEFAULTS),
    Noise(Pattern(r"No device id is provided via `?init_process_group"), DEFAULTS),
    Noise(Pattern(r"NCCL_ASYNC_ERROR_HANDLING is deprecated"), DEFAULTS),
    Noise(Pattern(r"destroy_process_group\(\) was not called"), AT_THE_END),
    Noise(Pattern(r"[Pp]rocess group has NOT been destroyed before"), AT_THE_END),
    Noise(Pattern(r"Producer process has been terminated before all shared CUDA"), AT_THE_END),
    Noise(
        Pattern(r"leaked (?:semaphore|shared_memory|folder)\S* objects? to clean up"), AT_THE_END
    ),
    Noise(Pattern(r"hostname of the client socket cannot be retrieved"), NO_NAME),
    Noise(Pattern(r"socket cannot be initialized on \[?::.*Address family not supp"), NO_NAME),
    Noise(Pattern(r"socket .*errno: 97 - Address family not supported by protocol"), NO_NAME),
    Noise(Pattern(r"DataLoader will create \d+ worker processes in total"), ADVICE),
    Noise(Pattern(r"find_unused_parameters=True was specified in DDP constructor"), ADVICE),
    Noise(Pattern(r"Grad strides do not match bucket view strides"), ADVICE),
    Noise(Pattern(r"Detected call of `lr_scheduler\.step\(\)` before"), ADVICE),
    Noise(Pattern(r"Named tensors and all their associated APIs are an exper"), ADVICE),
    Noise(Pattern(r"The module torch\.distributed\.launch is deprecated"), ADVICE),
    Noise(Pattern(r"torch\.distributed\.launch is deprecated"), ADVICE),
    Noise(Pattern(r"None of the inputs have requires_grad=True"), ADVICE),
    Noise(Pattern(r"The current process just got forked, after parallelism"), ADVICE),
    Noise(Pattern(r"TOKENIZERS_PARALLELISM="), ADVICE),
    Noise(Pattern(r"Token indices sequence length is longer than the specified"), ADVICE),
    Noise(Pattern(r"weights of .*were not (?:used|initialized)"), NEW_HEAD),
    Noise(Pattern(r"newly initialized because the shapes did not match"), NEW_HEAD),
    Noise(Pattern(r"found shape torch\.Size\(.* in the checkpoint and torch\.Size"), NEW_HEAD),
    Noise(Pattern(r"This IS (?:NOT )?expected if you are initializing"), NEW_HEAD),
    Noise(Pattern(r"You should probably TRAIN this model on a down-stream"), NEW_HEAD),
)
