"""What frameworks other than TensorFlow want to hear in the environment of each process.

They count processes instead of naming roles, and meet at the address of the first one. PyTorch
reads all of it for `init_process_group()` with `env://`. JAX reads the address by itself; a program
hands the two numbers to `jax.distributed.initialize`.
"""

from collections.abc import Mapping

from holdfast.model.cluster import ClusterSpec, TaskId

TORCH, JAX = FRAMEWORKS = ("torch", "jax")
# Where they meet: another attempt may have it elsewhere.
MEETING_PLACE = ("MASTER_ADDR", "MASTER_PORT", "JAX_COORDINATOR_ADDRESS")
NAMES = frozenset(
    {
        *MEETING_PLACE,
        *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        *("JAX_NUM_PROCESSES", "JAX_PROCESS_ID"),
    }
)


def variables(framework: str, cluster: ClusterSpec, task: TaskId) -> dict[str, str]:
    """For one task of a job that has workers only; nothing where no framework asks for it."""
    members = sorted(cluster.addresses)
    if framework not in FRAMEWORKS or task not in members:
        return {}
    number, total = members.index(task), len(members)
    first = cluster.addresses[members[0]]
    if framework == JAX:
        return {
            "JAX_COORDINATOR_ADDRESS": first,
            "JAX_NUM_PROCESSES": str(total),
            "JAX_PROCESS_ID": str(number),
        }
    hosts = [host_of(cluster.addresses[member]) for member in members]
    return {
        "RANK": str(number),
        "WORLD_SIZE": str(total),
        "LOCAL_RANK": str(hosts[:number].count(hosts[number])),
        "LOCAL_WORLD_SIZE": str(hosts.count(hosts[number])),
        "MASTER_ADDR": host_of(first),
        "MASTER_PORT": first.rpartition(":")[2],
    }


def moved(
    framework: str,
    task: TaskId,
    env: Mapping[str, str],
    *,
    before: ClusterSpec,
    after: ClusterSpec,
) -> dict[str, str]:
    """What changes for a task when the addresses do; what a user has set stays."""
    old, new = (variables(framework, cluster, task) for cluster in (before, after))
    return {name: value for name, value in new.items() if env.get(name) == old.get(name)}


def host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")
