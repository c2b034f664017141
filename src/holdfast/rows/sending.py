"""A writer for hosts without the shared folder: its log is kept by a receiver elsewhere."""

import datetime as dt
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast.rows import frames, layout, protocol
from holdfast.rows.errors import Refused, RowsError
from holdfast.rows.link import PATIENCE_S, QUEUE_BYTES_MAX, Link
from holdfast.rows.protocol import GROUP_BYTES_MAX, Address
from holdfast.rows.schema import Dataset
from holdfast.rows.source_logs import Kept, Piece
from holdfast.rows.writer import Ack, Writer

_NEVER = 1 << 63


def open_sender(
    address: str,
    *,
    task: str,
    ack: Ack = "process",
    token: str | None = None,
    queue_bytes_max: int = QUEUE_BYTES_MAX,
    patience_s: float = PATIENCE_S,
) -> "Sender":
    """A writer whose rows are acknowledged by the receiver at tcp://host:port or unix:///path.

    What is not acknowledged is sent again when a connection breaks, and is written once. When
    nothing was acknowledged for `patience_s`, append raises Unwritable.
    """
    return Sender(
        address,
        task=task,
        ack=ack,
        token=token,
        queue_bytes_max=queue_bytes_max,
        patience_s=patience_s,
    )


class Sender(Writer):
    """As a writer here, but acknowledged there."""

    def __init__(
        self,
        address: str,
        *,
        task: str,
        ack: Ack,
        token: str | None,
        queue_bytes_max: int,
        patience_s: float,
    ) -> None:
        # Not Writer's own: nothing of this is in a folder here.
        if ack not in ("process", "disk"):
            raise Refused(f"ack={ack!r:.40} is unknown", do="use process or disk")
        layout.task_folder(task)
        self.task = task
        self.ack = ack
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._seal = "never"
        self._log_bytes_max = _NEVER
        self._is_closed = False
        self._on_disk = True  # so that Writer's methods wait for `_acknowledge`
        about = {
            "task": task,
            "ack": ack,
            "session": secrets.token_hex(16),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        }
        self._link = Link(
            Address.parse(address),
            about,
            token=None if token is None else protocol.check_token(token),
            queue_bytes_max=queue_bytes_max,
            patience_s=patience_s,
            again=self._declarations,
        )
        self._sent = SentLogs(self._link)
        self._logs: Any = self._sent
        self._kept = self._sent.kept
        self._link.connect()
        self.folder = Path(str(self._link.welcome.get("folder", "")))
        self.incarnation = int(self._link.welcome.get("incarnation", 0))

    def append(self, name: str, batch: Any) -> None:
        """Adds rows to a dataset; returns when the receiver has acknowledged them."""
        self.append_many({name: batch})

    def flush(self) -> None:
        """Returns when all that was appended before is on the receiver's disk."""
        with self._lock:
            self._check_process()
            number = self._link.put(protocol.FLUSH, [])
        self._link.wait(number)

    def close(self) -> None:
        """Says that no more rows come. Idempotent."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._link.close()

    def __del__(self) -> None:
        # Whoever forgot to close it must not wait here; what was acknowledged is safe.
        if hasattr(self, "_link"):
            self._link.stop(Refused("the writer is gone", do="close it, or use it in a `with`"))

    def _ready(self, now_ns: int) -> Any:
        self._check_process()
        return self._sent.ready()

    def _acknowledge(self, log: Any, upto: int) -> None:
        self._link.wait(upto)

    def _declarations(self) -> Iterable[list[bytes]]:
        for kept in list(self._kept.values()):
            yield [_description(frames.DECLARATION, kept.id, kept.dataset.to_json())]


class SentLogs:
    """What a writer's logs are here: `good_bytes` counts messages, not bytes."""

    def __init__(self, link: Link) -> None:
        self.kept: dict[str, Kept] = {}
        self.log = None
        self._link = link

    @property
    def good_bytes(self) -> int:
        return self._link.number

    def ready(self) -> "SentLogs":
        return self

    def stop(self, why: RowsError) -> None:
        self._link.stop(why)

    def declare(self, dataset: Dataset) -> "SentLogs":
        """Waits for the answer: what others declared otherwise is refused here and now."""
        frame = _description(frames.DECLARATION, dataset.id, dataset.to_json())
        self._link.wait(self._link.put(protocol.DECLARE, [frame]))
        self.kept[dataset.name] = Kept(dataset)
        return self

    def set_attrs(self, kept: Kept, values: dict[str, Any]) -> "SentLogs":
        changed = kept.dataset.with_attrs(values)
        fresh = {key: changed.attrs[key] for key in values}
        self._link.put(protocol.FRAMES, [_description(frames.ATTRIBUTES, kept.id, fresh)])
        kept.dataset = changed
        return self

    def write_rows(self, pieces: Iterable[Piece]) -> "SentLogs":
        """One group of frames: all of it or nothing."""
        before = [(kept, kept.rows) for kept in self.kept.values()]
        try:
            self._link.put(protocol.FRAMES, self._frames(list(pieces)))
        except BaseException:
            for kept, rows in before:
                kept.rows = rows
            raise
        return self

    def _frames(self, pieces: list[Piece]) -> list[bytes]:
        total = sum(frames.HEADER_BYTES + len(payload) for _, _, payload in pieces)
        if total > GROUP_BYTES_MAX:
            raise Refused(
                f"{total} bytes in one append are more than go over the network at once",
                do=f"append at most {GROUP_BYTES_MAX} bytes at a time",
            )
        now_ns = time.time_ns()
        content: list[bytes] = []
        for left, (kept, rows, payload) in zip(range(len(pieces) - 1, -1, -1), pieces, strict=True):
            flags = frames.MORE_FOLLOWS if left else 0
            content += (
                frames.header_of(
                    frames.ROWS,
                    payload,
                    time_ns=now_ns,
                    flags=flags,
                    dataset_id=kept.id,
                    rows=rows,
                    first_row=kept.rows,
                ),
                payload,
            )
            kept.rows += rows
        return content


def _description(kind: int, dataset_id: int, content: dict[str, Any]) -> bytes:
    payload = json.dumps(content).encode()
    header = frames.header_of(kind, payload, time_ns=time.time_ns(), dataset_id=dataset_id)
    return header + payload
