"""What CUDA, NCCL, XLA and JAX print while all is well, or where there is no accelerator."""

from holdfast.model.noise.entry import Noise
from holdfast.model.pattern import Pattern

REGISTERED_TWICE = "two parts of TensorFlow bring the same library, and the first one is used"
NO_GPU = "there is no GPU here, and the CPU is used"
NO_TENSORRT = "TensorRT is not installed, and nothing but inference would use it"
NO_NUMA = "a machine that does not tell its NUMA layout"
NO_PLUGIN = "NCCL looks for plug-ins that few sites have, and goes on without"
NCCL_SAYS = "NCCL tells what it uses, or that it ends"
NO_PROFILE = "only the profiler would need it"
COMPILES = "kernels that are compiled at the first use, which takes time and no more"

ACCELERATORS = (
    Noise(Pattern(r"Unable to register cu\w+ (?:factory|plugin)"), REGISTERED_TWICE),
    Noise(Pattern(r"when one has already been registered"), REGISTERED_TWICE),
    Noise(Pattern(r"computation placer already registered"), REGISTERED_TWICE),
    Noise(Pattern(r"TF-TRT Warning: "), NO_TENSORRT),
    Noise(Pattern(r"Could not load dynamic library 'libnvinfer"), NO_TENSORRT),
    Noise(Pattern(r"Cannot dlopen some TensorRT libraries"), NO_TENSORRT),
    Noise(Pattern(r"Could not find TensorRT"), NO_TENSORRT),
    Noise(Pattern(r"Could not find cuda drivers on your machine"), NO_GPU),
    Noise(Pattern(r"failed call to cuInit: .*(?:NO_DEVICE|UNKNOWN ERROR \(303\))"), NO_GPU),
    Noise(Pattern(r"Could not load dynamic library 'libcud(?:art|a)\.so"), NO_GPU),
    Noise(Pattern(r"Ignore above cudart dlerror if you do not have a GPU"), NO_GPU),
    Noise(Pattern(r"Skipping registering GPU devices"), NO_GPU),
    Noise(Pattern(r"kernel driver does not appear to be running on this host"), NO_GPU),
    Noise(Pattern(r"no NVIDIA GPU device is present: /dev/nvidia\d+ does not exist"), NO_GPU),
    Noise(Pattern(r"retrieving CUDA diagnostic information for host"), NO_GPU),
    Noise(Pattern(r"No (?:GPU/TPU|GPU|TPU) found, falling back to CPU"), NO_GPU),
    Noise(Pattern(r"NVIDIA GPU may be present on this machine, but a CUDA-enabled"), NO_GPU),
    # An exception with the same words is no noise: that program asked for this backend.
    Noise(Pattern(r"xla_bridge\.py:\d+\] Unable to initialize backend"), NO_GPU),
    Noise(Pattern(r"INFO.*Unable to initialize backend '"), NO_GPU),
    Noise(Pattern(r"[Ff]ailed to open libtpu\.so|libtpu\.so: cannot open shared object"), NO_GPU),
    Noise(Pattern(r"[Nn]o (?:ROCm|HIP)-capable device|librocm\S* not found"), NO_GPU),
    Noise(Pattern(r"had negative value \(-1\), but there must be at least one NUMA"), NO_NUMA),
    Noise(Pattern(r"Your kernel may (?:not have been|have been) built without? NUMA"), NO_NUMA),
    Noise(Pattern(r"could not open file to read NUMA node"), NO_NUMA),
    Noise(Pattern(r"Could not identify NUMA node of platform GPU"), NO_NUMA),
    Noise(Pattern(r"NCCL INFO .*Plugin"), NO_PLUGIN),
    Noise(Pattern(r"NCCL INFO .*lib(?:nccl-\w+|cuda|mlx5|ibverbs)[\w.-]*\.so"), NO_PLUGIN),
    Noise(
        Pattern(
            r"ibvwrap\.(?:cu|cc|c):\d+ (?:NCCL )?WARN"
            r" (?:Failed to open|Call to ibv_(?:open|get|fork|query)_)"
        ),
        NO_PLUGIN,
    ),
    Noise(Pattern(r"NCCL INFO Bootstrap ?: Using"), NCCL_SAYS),
    Noise(Pattern(r"NCCL INFO (?:NCCL_|Using |Channel|Trees|Connected|Setting)"), NCCL_SAYS),
    Noise(Pattern(r"NCCL INFO comm .*(?:Destroy|Abort|Init) COMPLETE"), NCCL_SAYS),
    Noise(Pattern(r"NCCL INFO \[(?:Service|Proxy \w+)[^\]]*\] Connection closed by"), NCCL_SAYS),
    Noise(Pattern(r"NCCL INFO NET/(?:IB|OFI)\S* ?: No device"), NCCL_SAYS),
    Noise(Pattern(r"CUPTI_ERROR_(?:INSUFFICIENT_PRIVILEGES|NOT_INITIALIZED)"), NO_PROFILE),
    Noise(Pattern(r"CUPTI could not be loaded or symbol could not be found"), NO_PROFILE),
    Noise(Pattern(r"function cupti_interface_->\w+\([^)]*\) ?failed"), NO_PROFILE),
    Noise(Pattern(r"Could not load dynamic library 'libcupti"), NO_PROFILE),
    Noise(Pattern(r"not built with CUDA kernel binaries compatible with compute"), COMPILES),
    Noise(Pattern(r"Relying on driver to perform ptx compilation"), COMPILES),
    Noise(Pattern(r"expandable_segments not supported on this platform"), COMPILES),
)
