"""Rows on a real HDFS over WebHDFS: `python -m bench.rows.hdfs`; a broken promise is exit 1.

Hadoop's name node and data node are in the jars of an old pyspark; what it left out of their web
server is in Debian's packages of Jersey 1. Needs Java, pip and apt-get, about 400 MB below .envs.
"""

import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from bench.rows.running import ROOT, end_all, own, terminable

from holdfast import rows
from holdfast.rows.store import Store

PYSPARK = "pyspark==2.4.8"
DEBIAN = (
    *("libjersey1-core-java", "libjersey1-server-java", "libjersey1-servlet-java"),
    *("libjsr311-api-java", "libasm-java"),
)
JARS = (
    *("hadoop-", "jetty", "commons-", "guava-", "htrace", "jackson-core-asl", "jackson-mapper-asl"),
    *("javax.servlet", "jaxb-api", "leveldb", "log4j", "netty", "protobuf", "slf4j", "xmlenc"),
    *("xbean", "activation", "httpc"),
)
JAVA = (
    *("java", "-Xmx256m", "--add-opens", "java.base/java.lang=ALL-UNNAMED"),
    *("--add-opens", "java.base/java.nio=ALL-UNNAMED"),
    *("--add-exports", "java.security.jgss/sun.security.krb5=ALL-UNNAMED"),
)
SERVER = "org.apache.hadoop.hdfs.server"
STARTS_S_MAX = 180.0
TASKS = ("worker:0", "worker:1", "worker:0")
BATCHES = 50


def main() -> int:
    terminable()
    jars = jars_of_hadoop(ROOT / ".envs" / "hdfs")
    with tempfile.TemporaryDirectory(prefix="bench-hdfs-") as name:
        try:
            port = start(Path(name), jars)
            url = f"webhdfs://127.0.0.1:{port}/run"
            kept = {
                "of 8 who create one file at once, one has done it": one_creates(url),
                f"rows of {len(TASKS)} writers are there once": is_whole(url, Path(name)),
            }
        finally:
            end_all()
    for promise, is_kept in kept.items():
        print(f"{'kept  ' if is_kept else 'BROKEN'} {promise}")
    return 0 if all(kept.values()) else 1


def one_creates(url: str) -> bool:
    won: list[int] = []
    begin = threading.Barrier(8)

    def create(number: int) -> None:
        store = Store(url, {"user": "bench"})
        begin.wait()
        if store.create("rows/first", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = Store(url, {"user": "bench"})
    return [str(number).encode() for number in won] == [store.read("rows/first")]


def is_whole(url: str, folder: Path) -> bool:
    options = {"user": "bench"}
    for task in TASKS:
        with rows.open(
            url, task=task, spool=folder / "spool", log_bytes_max=100_000, storage_options=options
        ) as writer:
            for number in range(BATCHES):
                writer.append("x", np.full((10, 100), number, "f4"))
    place = rows.fetch(url, folder / "here", storage_options=options)
    found = np.concatenate([some[:, 0] for some in rows.arrays(place, "x")])
    expected = np.tile(np.repeat(np.arange(BATCHES), 10), len(TASKS))
    return np.array_equal(found, expected) and not list((folder / "spool").rglob("0*"))


def start(folder: Path, jars: Path) -> int:
    """A name node and a data node of their own; the port of WebHDFS."""
    web, names, *others = free_ports(5)
    settings = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{names}",
        "hadoop.tmp.dir": str(folder / "hadoop"),
        "dfs.namenode.http-address": f"127.0.0.1:{web}",
        "dfs.datanode.address": f"127.0.0.1:{others[0]}",
        "dfs.datanode.http.address": f"127.0.0.1:{others[1]}",
        "dfs.datanode.ipc.address": f"127.0.0.1:{others[2]}",
        "dfs.datanode.hostname": "127.0.0.1",
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    }
    conf = folder / "conf"
    for site in ("hdfs", "datanode"):  # the pages for people, which pyspark left out
        (conf / "webapps" / site / "WEB-INF").mkdir(parents=True)
        (conf / "webapps" / site / "WEB-INF" / "web.xml").write_text("<web-app/>")
    lines = [
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in settings.items()
    ]
    for name in ("core-site.xml", "hdfs-site.xml"):
        (conf / name).write_text(f"<configuration>{''.join(lines)}</configuration>")
    (conf / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    java = [*JAVA, "-cp", f"{conf}:{jars}/*"]
    format_it = [*java, f"{SERVER}.namenode.NameNode", "-format", "-nonInteractive"]
    subprocess.run(format_it, check=True, capture_output=True)
    for name in ("namenode.NameNode", "datanode.DataNode"):
        with (folder / f"{name}.txt").open("wb") as said:
            own(subprocess.Popen([*java, f"{SERVER}.{name}"], cwd=folder, stdout=said, stderr=said))
    wait_until_it_writes(f"http://127.0.0.1:{web}/webhdfs/v1/ready?op=CREATE&user.name=bench")
    return web


def wait_until_it_writes(url: str) -> None:
    until = time.monotonic() + STARTS_S_MAX
    while True:
        try:
            ask = urllib.request.Request(url, method="PUT")
            urllib.request.urlopen(ask, timeout=10).close()
        except urllib.error.HTTPError as error:
            # Python follows no redirect of a PUT: that there is one means a data node is known.
            if error.code == 307:
                return
        except OSError:
            pass
        if time.monotonic() > until:
            sys.exit("HDFS did not start")
        time.sleep(0.5)


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def jars_of_hadoop(folder: Path) -> Path:
    """Downloaded once."""
    jars = folder / "jars"
    if jars.is_dir():
        return jars
    with tempfile.TemporaryDirectory(prefix="bench-hdfs-") as name:
        loaded = Path(name)
        loading = loaded / "jars"
        loading.mkdir()
        print(f"downloading {PYSPARK} and Debian's {', '.join(DEBIAN)}", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--no-build-isolation", "--no-binary", ":all:", "-d", name, PYSPARK]
        subprocess.run(pip, check=True)
        with tarfile.open(next(loaded.glob("pyspark-*.tar.gz"))) as pack:
            for member in pack:
                last = member.name.rpartition("/")[2]
                if "/deps/jars/" in member.name and last.startswith(JARS):
                    member.name = last
                    pack.extract(member, loading, filter="data")
        subprocess.run(["apt-get", "download", *DEBIAN], check=True, cwd=name)
        for package in loaded.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(loaded / "debian")], check=True)
        for jar in (loaded / "debian/usr/share/java").glob("*.jar"):
            shutil.copy(jar, loading / jar.name)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.move(loading, jars)
    return jars


if __name__ == "__main__":
    sys.exit(main())
