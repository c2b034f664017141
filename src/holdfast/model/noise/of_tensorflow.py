"""What TensorFlow and Keras print while all is well."""

from holdfast.model.noise.entry import Noise
from holdfast.model.pattern import Pattern

BUILD = "what this build of TensorFlow could do faster"
ITERATOR_ENDS = "an input iterator came to its end, as every epoch does"
CANCELLED = "work that was given up because something else had ended"
NOT_OPTIMISED = "an optimisation that was left out: the graph runs without it"
ADVICE = "advice on the speed or the style of the program"
STARTS = "a step of a normal start"
UNUSED_VALUES = "parts of a checkpoint that the program did not ask for"
MEMORY_ASKED = "a large piece of memory, which it was given"

TENSORFLOW = (
    Noise(Pattern(r"This TensorFlow binary is optimized"), BUILD),
    Noise(Pattern(r"in other operations, rebuild TensorFlow with the appropriate"), BUILD),
    Noise(Pattern(r"Your CPU supports instructions that this TensorFlow binary was not"), BUILD),
    Noise(Pattern(r"TensorFlow library wasn't compiled to use \S+ instructions"), BUILD),
    Noise(Pattern(r"oneDNN custom operations are on"), BUILD),
    Noise(Pattern(r"All log messages before absl::InitializeLog\(\) is called"), STARTS),
    Noise(Pattern(r"None of the MLIR [Oo]ptimization [Pp]asses are enabled"), STARTS),
    Noise(Pattern(r"MLIR V1 optimization pass is not enabled"), STARTS),
    Noise(Pattern(r"[Dd]isabling MLIR crash reproducer"), STARTS),
    Noise(Pattern(r"Failed to (?:get|find) (?:bogomips or clock|CPU frequency)"), STARTS),
    Noise(Pattern(r"One-time warning\): Not using XLA:CPU for cluster"), STARTS),
    Noise(Pattern(r"Unable to destroy server_ object, so releasing instead"), CANCELLED),
    Noise(Pattern(r"Overriding (?:allow_growth|orig_value) setting because"), STARTS),
    Noise(Pattern(r"Memory patch applied: M_TRIM_THRESHOLD"), STARTS),
    Noise(Pattern(r"Could not find trained model in model_dir"), STARTS),
    Noise(Pattern(r"Waiting for new checkpoint at "), STARTS),
    # The same words in an exception are no noise: there the loop itself ran dry.
    Noise(
        Pattern(
            r"(?:op_kernel|rendezvous|base_collective_executor|executor|iterator_ops)\.cc:\d+\]"
            r".*(?:OUT_OF_RANGE|Out of range): +End of sequence"
        ),
        ITERATOR_ENDS,
    ),
    Noise(
        Pattern(r"Local rendezvous is aborting with status: (?:OUT_OF_RANGE|Out of range)"),
        ITERATOR_ENDS,
    ),
    Noise(Pattern(r"Executor start aborting \(this does not indicate an error"), ITERATOR_ENDS),
    Noise(Pattern(r"calling iterator did not fully read the dataset being cached"), ITERATOR_ENDS),
    Noise(Pattern(r"\.cc:\d+\].*(?:ABORTED|Aborted): Cleanup \d+"), CANCELLED),
    Noise(Pattern(r"Local rendezvous is aborting with status: CANCELLED"), CANCELLED),
    Noise(Pattern(r"Local rendezvous (?:recv|send) item cancelled"), CANCELLED),
    Noise(Pattern(r"Cancellation requested for RunGraph"), CANCELLED),
    Noise(Pattern(r"OP_REQUIRES failed at \S+ : (?:CANCELLED|Cancelled): "), CANCELLED),
    Noise(
        Pattern(
            r"Error occurred when finalizing GeneratorDataset iterator:"
            r" (?:CANCELLED|Cancelled|FAILED_PRECONDITION|Failed precondition)"
        ),
        "an iterator of Python's, ended together with its interpreter",
    ),
    Noise(Pattern(r"Error reported to Coordinator: .*\bCancelledError\b"), CANCELLED),
    Noise(Pattern(r"^[^^]*Skipping cancelled (?:en|de)queue attempt with queue"), CANCELLED),
    Noise(Pattern(r"PREEMPTION_NOTIFIER.*(?:CANCELLED|cancelled)"), CANCELLED),
    Noise(Pattern(r"meta_optimizer\.cc:\d+\].*failed: "), NOT_OPTIMISED),
    Noise(Pattern(r"(?:layout|remapper|arithmetic_optimizer) failed: "), NOT_OPTIMISED),
    Noise(Pattern(r"will not be optimized because the dataset does not implement"), NOT_OPTIMISED),
    Noise(Pattern(r"auto_shard\.cc:\d+\]"), NOT_OPTIMISED),
    Noise(Pattern(r"AUTO-mode, and switching to DATA-based sharding"), NOT_OPTIMISED),
    Noise(Pattern(r"AutoGraph could not transform .* and will run it as-is"), NOT_OPTIMISED),
    Noise(Pattern(r"Model failed to serialize as JSON\. Ignoring"), NOT_OPTIMISED),
    Noise(Pattern(r"triggered tf\.function retracing"), ADVICE),
    Noise(Pattern(r"(?:is|are) slow compared to the batch (?:update|time)"), ADVICE),
    Noise(Pattern(r"Converting sparse IndexedSlices"), ADVICE),
    Noise(Pattern(r"Gradients do not exist for variables"), ADVICE),
    Noise(Pattern(r"It seems that global step .* has not been increased"), ADVICE),
    Noise(Pattern(r"WARNING:tensorflow:.*\bdeprecated\b"), ADVICE),
    Noise(Pattern(r"WARNING:tensorflow:From .* is deprecated"), ADVICE),
    Noise(Pattern(r"The name tf\.\S+ is deprecated\. Please use"), ADVICE),
    Noise(Pattern(r"^Instructions for updating:"), ADVICE),
    Noise(Pattern(r"`shuffle=True` was passed, but will be ignored"), ADVICE),
    Noise(Pattern(r"This file format is considered legacy"), ADVICE),
    Noise(Pattern(r"Compiled the loaded model, but the compiled metrics have yet"), ADVICE),
    Noise(Pattern(r"No training configuration found in (?:the )?save file"), ADVICE),
    Noise(Pattern(r"Found untraced functions such as"), ADVICE),
    Noise(Pattern(r"being deleted with unrestored values"), UNUSED_VALUES),
    Noise(Pattern(r"Value in checkpoint could not be found in the restored"), UNUSED_VALUES),
    Noise(Pattern(r"A checkpoint was restored .* but not all checkpointed values"), UNUSED_VALUES),
    Noise(Pattern(r"Unresolved object in checkpoint"), UNUSED_VALUES),
    Noise(Pattern(r"Allocation of \d+ exceeds \d+% of (?:free )?system memory"), MEMORY_ASKED),
    Noise(
        Pattern(r"The caller indicates that this is not a failure, but"),
        "a faster way needed more memory, and a slower one was taken",
    ),
    Noise(
        Pattern(r"[Gg]arbage collection: deallocate free memory regions"),
        "the allocator tidied up, as it does when it is nearly full",
    ),
)
