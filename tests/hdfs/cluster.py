"""A name node and a data node of Hadoop on loopback, each a process that can be killed alone."""

import getpass
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec

JARS = Path(__file__).parents[2] / ".envs" / "hdfs" / "jars"  # `make test-hdfs` brings them
STARTS_S_MAX = 180.0
LOOK_AGAIN_S = 0.2
ROLES = {"name": "namenode.NameNode", "data": "datanode.DataNode"}
JAVA = (
    *("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
)
LOG4J = """\
log4j.rootLogger=WARN,err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.SimpleLayout
"""


@dataclass
class Hdfs:
    """Its superuser is whoever runs it. All of it lies in `folder`."""

    folder: Path
    name_port: int = 0
    web_port: int = 0
    running: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def begin(self) -> None:
        assert JARS.is_dir(), "Hadoop is not here: make test-hdfs"
        self.name_port, self.web_port, *others = _free_ports(5)
        self._write_settings(others)
        format_it = [*self._java("name"), "-format", "-nonInteractive"]
        subprocess.run(format_it, check=True, capture_output=True, cwd=self.folder)
        self.start("name")
        self.start("data")
        self.wait_until_it_writes()

    def start(self, role: str) -> None:
        with (self.folder / f"{role}.txt").open("ab") as said:
            self.running[role] = subprocess.Popen(
                self._java(role), cwd=self.folder, stdout=said, stderr=said
            )

    def kill(self, role: str) -> None:
        process = self.running.pop(role)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def wait_until_it_answers(self) -> None:
        self._wait(lambda: self.as_superuser().ls("/"))

    def wait_until_it_writes(self) -> None:
        """For ten minutes a name node counts a data node that is gone: only a write tells."""
        self._wait(lambda: self.as_superuser().pipe_file("/ready", b"ready"))

    def as_superuser(self) -> Any:
        return fsspec.filesystem(
            "webhdfs", host="127.0.0.1", port=self.web_port, user=getpass.getuser()
        )

    def end(self) -> None:
        for role in list(self.running):
            self.kill(role)

    def _wait(self, act: Callable[[], object]) -> None:
        """Until it can be done."""
        until_s = time.monotonic() + STARTS_S_MAX
        while True:
            try:
                act()
            except (OSError, RuntimeError) as error:
                if time.monotonic() > until_s or any(one.poll() for one in self.running.values()):
                    said = [path.read_text()[-2000:] for path in sorted(self.folder.glob("*.txt"))]
                    raise AssertionError("HDFS did not start:\n" + "\n".join(said)) from error
                time.sleep(LOOK_AGAIN_S)
            else:
                return

    def _java(self, role: str) -> list[str]:
        place = f"{self.folder / 'conf'}:{JARS}/*"
        return [*JAVA, "-cp", place, f"org.apache.hadoop.hdfs.server.{ROLES[role]}"]

    def _write_settings(self, ports: list[int]) -> None:
        settings = {
            "fs.defaultFS": f"hdfs://127.0.0.1:{self.name_port}",
            "hadoop.tmp.dir": str(self.folder / "hadoop"),
            "dfs.namenode.http-address": f"127.0.0.1:{self.web_port}",
            "dfs.namenode.safemode.extension": "0",
            "dfs.datanode.address": f"127.0.0.1:{ports[0]}",
            "dfs.datanode.http.address": f"127.0.0.1:{ports[1]}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{ports[2]}",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.replication": "1",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        }
        lines = [
            f"<property><name>{key}</name><value>{value}</value></property>"
            for key, value in settings.items()
        ]
        conf = self.folder / "conf"
        for site in ("hdfs", "datanode"):  # the pages for people, which are in no jar
            (conf / "webapps" / site / "WEB-INF").mkdir(parents=True)
            (conf / "webapps" / site / "WEB-INF" / "web.xml").write_text("<web-app/>")
        for name in ("core-site.xml", "hdfs-site.xml"):
            (conf / name).write_text(f"<configuration>{''.join(lines)}</configuration>")
        (conf / "log4j.properties").write_text(LOG4J)


def _free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports
