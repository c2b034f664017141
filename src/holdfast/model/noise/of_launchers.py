"""What MPI, Slurm, Horovod, gRPC and Ray print while all is well."""

from holdfast.model.noise.entry import Noise
from holdfast.model.pattern import Pattern

SLOWER_WAY = "MPI takes another way between processes, slower and as sure"
OPTIONAL_PART = "a part of MPI that is not installed, and is not needed"
FORKS = "a process that forks while gRPC or MPI runs: a child that only executes is safe"
LISTENS = "an option of the sockets that this kernel does not have"
NO_METRICS = "a reporter of metrics that is not there: the job itself does not need it"
BINDING = "how a launcher placed the tasks"

LAUNCHERS = (
    Noise(Pattern(r"at least non-excluded one OpenFabrics device found"), SLOWER_WAY),
    Noise(Pattern(r"No OpenFabrics connection schemes reported"), SLOWER_WAY),
    Noise(Pattern(r"There was an error initializing an OpenFabrics device"), SLOWER_WAY),
    Noise(Pattern(r"Open MPI failed to TCP connect to a peer MPI process; unused"), SLOWER_WAY),
    Noise(Pattern(r"(?i)Linux kernel CMA support was requested via the"), SLOWER_WAY),
    Noise(Pattern(r"(?i)\bread -1, expected \d+, errno = 1\b"), SLOWER_WAY),
    Noise(Pattern(r"btl_(?:vader|sm)_single_copy_mechanism"), SLOWER_WAY),
    Noise(Pattern(r"more processes have sent help message help-m\w+"), SLOWER_WAY),
    Noise(Pattern(r"Set MCA parameter \"orte_base_help_aggregate\" to 0"), SLOWER_WAY),
    Noise(
        Pattern(r"mca_base_component_repository_open: unable to open mca_\w+: .*\(ignored\)"),
        OPTIONAL_PART,
    ),
    Noise(Pattern(r"libibverbs: Warning: "), OPTIONAL_PART),
    Noise(Pattern(r"A process has executed an operation involving a call"), FORKS),
    Noise(Pattern(r"calling into gRPC, skipping fork\(\) handlers"), FORKS),
    Noise(Pattern(r"Fork support is only compatible with the epoll1 and poll"), FORKS),
    Noise(Pattern(r"FD from fork parent still in poll list"), FORKS),
    Noise(Pattern(r"ev_epoll1_linux\.cc:\d+\] grpc epoll fd"), FORKS),
    Noise(Pattern(r"check for SO_REUSEPORT"), LISTENS),
    Noise(Pattern(r"Failed to add :: listener, the environment may not support IPv6"), LISTENS),
    Noise(Pattern(r"ALTS creds ignored\. Not running on GCP"), LISTENS),
    Noise(Pattern(r"ignoring out of order new grpc_chttp2_stream request"), LISTENS),
    Noise(Pattern(r"Failed to establish connection to the (?:event\+)?metrics export"), NO_METRICS),
    Noise(Pattern(r"[Ff]ailed to (?:query|export|push|send|collect) (?:\w+ )?metrics"), NO_METRICS),
    Noise(Pattern(r"task_p_pre_launch: Using sched_affinity for tasks"), BINDING),
    Noise(Pattern(r"srun: warning: can't run \d+ processes on \d+ nodes"), BINDING),
    Noise(Pattern(r"cpu-bind=\S+ - "), BINDING),
    Noise(Pattern(r"^nohup: ignoring input"), BINDING),
    Noise(Pattern(r"Warning: Permanently added .* to the list of known hosts"), BINDING),
)
