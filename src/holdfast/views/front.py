"""What a person sees and says of a running job. The job does not depend on it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, cast

import click

from holdfast.logdir.journal_lock import is_being_written
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import NotOurs, StorageFailed, Unreachable
from holdfast.model.facts import AttemptEnded
from holdfast.model.line_choice import LineChoice
from holdfast.views.asking import Asking
from holdfast.views.live import Screen
from holdfast.views.text import report_text
from holdfast.views.watch import Watch
from holdfast.wire.door import Request, ask

START_S = 30.0  # how long the supervisor may take until it answers
DRAIN_S = 10.0  # how long the last lines may wait for somebody to take them
LAST_S = 5.0  # how long the supervisor may take to go, once it has said that all is over
PAUSE_S = 0.04  # while there is more to show than one look takes
CALM_S, CALM_S_MAX = 0.1, 0.2  # for eyes
PIPE_CALM_S, PIPE_CALM_S_MAX = 0.2, 0.4  # for files and programs
REST_FOR_WORK, REST_S_MAX = 33, 0.5  # showing a flood takes 3 % of a core, not more
NICENESS = 5  # showing must not take a core from training


class Held:
    """Whoever holds the job: a supervisor that we started, or one that was there before us."""

    def __init__(self, run_dir: RunDir, child: "subprocess.Popen[bytes] | None") -> None:
        self._run_dir = run_dir
        self._child = child

    @property
    def exit_code(self) -> int | None:
        return self._child.returncode if self._child else None

    def is_gone(self) -> bool:
        if self._child is not None and self._child.poll() is None:
            return False
        # Of two who take a run over at the same moment, one finds that the other was faster.
        others = self._child is None or self._child.returncode == NotOurs.exit_code
        return not (others and is_being_written(self._run_dir))

    def wait(self, wait_s: float) -> None:
        deadline_s = time.monotonic() + wait_s
        while not self.is_gone() and time.monotonic() < deadline_s:
            time.sleep(PAUSE_S / 4)


class Front:
    """Shows the job until it ends, and passes signals on to whoever holds it."""

    def __init__(
        self,
        run_dir: RunDir,
        held: Held,
        tasks: tuple[TaskId, ...],
        *,
        shown: tuple[TaskId, ...],
        signals: list[int],
        width: Callable[[], int],
        colour: bool,
        choice: LineChoice,
        joins: bool = False,
    ) -> None:
        self._run_dir = run_dir
        self._held = held
        self._width = width
        self._colour = colour
        self._asked = signals  # those that are not yet passed on
        self._interrupts = 0
        self._ready_by_s = time.monotonic() + START_S
        self._is_tty = sys.stdout.isatty()
        self._screen = Screen(
            1,
            width=width(),
            colour=colour,
            is_tty=self._is_tty,
            tasks=[str(task) for task in tasks],
        )
        self._watch = Watch(
            run_dir,
            tasks,
            self._screen,
            shown=shown,
            is_tty=self._is_tty,
            joins=joins,
            choice=choice,
        )
        self._asking = Asking(self._watch.say, self._answer) if sys.stdin.isatty() else None

    def run(self) -> int:
        """Until the job has ended, or the terminal is gone."""
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # `nohup` means: stay
            signal.signal(signal.SIGHUP, self._hang_up)
        os.nice(NICENESS)
        began_s = time.monotonic()
        calm_s, calm_s_max = (
            (CALM_S, CALM_S_MAX) if self._is_tty else (PIPE_CALM_S, PIPE_CALM_S_MAX)
        )
        pause_s = PAUSE_S
        while self._watch.ended is None:
            # Asked first: the last words of one that has gone by now are read after this.
            gone = self._held.is_gone()
            began_cpu_s = time.process_time()
            busy = self._watch.step(time.monotonic() - began_s, width=self._width())
            self._pass_on()
            if self._asking:
                self._asking.step(self._watch.decided)
            if gone and not busy and self._watch.ended is None:
                self._lost_supervisor()
            pause_s = calm_s if busy else min(max(pause_s, calm_s) * 1.5, calm_s_max)
            if self._watch.is_behind:
                pause_s = PAUSE_S
            rest_s = REST_FOR_WORK * (time.process_time() - began_cpu_s)
            time.sleep(min(max(pause_s, rest_s), REST_S_MAX))
        left = self._drain(began_s)
        return self._finish(self._watch.ended, left)

    def _drain(self, began_s: float) -> int:
        """The last lines, as long as somebody takes them; how many nobody took."""
        least = sys.maxsize
        deadline_s = time.monotonic() + DRAIN_S
        while left := self._watch.drain(time.monotonic() - began_s, width=self._width()):
            if self._asked or (left >= least and time.monotonic() > deadline_s):
                return self._watch.lines_left()
            if left < least:
                least, deadline_s = left, time.monotonic() + DRAIN_S
            else:
                time.sleep(PAUSE_S)
        return 0

    def _pass_on(self) -> None:
        """Every signal goes to the supervisor, who decides; a second Ctrl-C means now."""
        while self._asked:
            number = self._asked[0]
            by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
            try:
                ask(self._run_dir.fd, self._request(number, by))
            except Unreachable as error:
                if not self._held.is_gone() and time.monotonic() < self._ready_by_s:
                    return  # it is still starting
                self._watch.say(f"{by} could not be passed on: {error.message}")
            else:
                if number == signal.SIGINT:
                    self._interrupts += 1
                    again = "ending at once" if self._interrupts > 1 else "again to end at once"
                    self._watch.say(f"Ctrl-C: the tasks are asked to end ({again})")
            del self._asked[0]

    def _answer(self, yes: bool, by: str) -> None:  # noqa: FBT001 - what else is an answer
        try:
            ask(self._run_dir.fd, Request(ask="answer", yes=yes, by=by))
        except Unreachable as error:
            self._watch.say(f"the answer could not be passed on: {error.message}")

    def _request(self, number: int, by: str) -> Request:
        if number in {signal.SIGUSR1, signal.SIGUSR2}:
            return Request(ask="signal", signal=number, by=by)
        now = number == signal.SIGINT and self._interrupts > 0
        return Request(ask="kill" if now else "stop", signal=number, by=by)

    def _lost_supervisor(self) -> None:
        self._screen.close(DRAIN_S)
        code = self._held.exit_code
        if code == StorageFailed.exit_code:
            raise StorageFailed(
                f"the job has ended, but its journal and report did not fit into"
                f" {self._run_dir.path}",
                do=f"free space there (df -h), then read {self._run_dir.path}/logs",
            )
        how = "" if code is None else f" ({code})"
        raise Unreachable(
            f"the supervisor ended unexpectedly{how}; tasks that had started run on",
            do=f"holdfast attach {self._run_dir.path} takes the job over; supervisor.log there may"
            f" say why, and holdfast diagnose what was seen until then",
        )

    def _hang_up(self, *_: object) -> None:
        """The terminal is gone: the job goes on without it."""
        os._exit(128 + signal.SIGHUP)

    def _finish(self, ended: AttemptEnded, left: int) -> int:
        dropped = self._screen.lines_not_shown
        left += self._screen.close(DRAIN_S) - dropped
        self._held.wait(LAST_S)
        # A terminal may stay stopped for ever; whoever is tired of it may end us now.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(ended.exit_code))
        shown = cast("dict[str, Any]", self._run_dir.read_json("report.json"))
        words = [f"… the last {left:,} lines were not shown here; all are in logs/"] if left else []
        words.append(report_text(shown, width=self._width(), colour=self._colour))
        if ended.exit_code and shown["verdict"] != "sick":
            words.append(f"{ended.why}: exit code {ended.exit_code}")
        words.append(f"logs, journal and report: {self._run_dir.path}")
        try:
            click.echo("\n".join(words), color=self._colour)
        except OSError:  # whoever watched has gone: the report is on disk
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python complains at its end
        return ended.exit_code
