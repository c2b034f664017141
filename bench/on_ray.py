"""Reads the same logs here and on a Ray cluster of several raylets: `python -m bench.on_ray`.

The two reports must be the same to the byte. The cluster is made here and taken down again.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.made_logs import make_log

MB = 1_000_000
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
)
for _ in range(int(sys.argv[1]) - 1):
    cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
print("address", cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


def main() -> int:
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix="holdfast-ray-", dir=asked.dir) as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        for number in range(asked.files):
            make_log(logs / f"worker-{number}.log", size_bytes=asked.mb * MB, seed=number)
        total_mb = asked.files * asked.mb
        print(f"{asked.files} files of {asked.mb} MB", flush=True)
        here, took_s = _report(logs, env={})
        print(f"here: {took_s:.1f} s, {total_mb / took_s:.0f} MB/s", flush=True)
        with cluster(asked.raylets) as address:
            there, took_s = _report(logs, "--engine", "ray", env={"RAY_ADDRESS": address})
        print(f"on {asked.raylets} raylets: {took_s:.1f} s, {total_mb / took_s:.0f} MB/s")
    same = here == there
    print(f"{len(here):,} bytes of report, {'identical' if same else 'DIFFERENT'}")
    return 0 if same else 1


def _report(logs: Path, *options: str, env: dict[str, str]) -> tuple[bytes, float]:
    began_s = time.monotonic()
    command = [HOLDFAST, "diagnose", "--format", "json", *options, str(logs)]
    path = "/usr/bin:/bin"
    done = subprocess.run(command, capture_output=True, env={"PATH": path, **env}, check=False)
    if done.returncode not in {0, 1}:
        sys.exit(done.stderr.decode())
    return done.stdout, time.monotonic() - began_s


@contextmanager
def cluster(raylets: int) -> Iterator[str]:
    """The address of a cluster on this host, as long as it is needed."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, str(raylets)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            words = (line.split() for line in process.stdout)
            yield next(found[1] for found in words if found[:1] == ["address"])
        finally:
            process.stdin.close()
            process.wait(60)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--mb", type=int, default=500, help="of each file")
    parser.add_argument("--raylets", type=int, default=3)
    parser.add_argument("--dir", help="where the files go  [default: the temporary directory]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
