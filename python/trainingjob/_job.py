"""The job of this process. docs/checkpoints.md of the operator describes the contract."""

import atexit
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from types import FrameType
from typing import Any, Optional, Union

from trainingjob import _files

_log = logging.getLogger("trainingjob")

# Variables with the rank of a process: torchrun and the operator, JAX, Open MPI, MPICH.
_RANKS = ("RANK", "PROCESS_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")


def _rank_of(environ: Mapping[str, str]) -> int:
    for name in _RANKS:
        if environ.get(name, "").isdigit():
            return int(environ[name])
    try:
        config = json.loads(environ.get("TF_CONFIG", ""))
        task, cluster = config["task"], config["cluster"]
        first = next((t for t in ("chief", "master") if t in cluster), "worker")
        return 0 if task["type"] == first and int(task["index"]) == 0 else 1
    except (ValueError, KeyError, TypeError):
        return 0


def _beat_file_of(environ: Mapping[str, str]) -> str:
    """Returns the beat file of this process; empty: the operator does not watch the ranks."""
    file = environ.get("TRAININGJOB_BEAT_FILE", "")
    for name in _LOCAL_RANKS:
        local = environ.get(name, "")
        if file and local.isdigit() and int(local) <= _files.MAX_LOCAL_RANK:
            return f"{file}.{int(local)}"
    return file


class Job:
    """A TrainingJob as its trainer sees it. Outside of a TrainingJob nothing is reported or requested.

    Call the methods on all ranks. Rank 0 alone reports and decides; on other ranks should_save() and
    should_stop are False. Broadcast the decision of rank 0 if there are several ranks. In a rehearsal each rank
    also reports what it has loaded.
    """

    def __init__(self, environ: Optional[Mapping[str, str]] = None) -> None:
        env = os.environ if environ is None else environ
        #: The rank of this process, from the environment. Set it if your launcher uses other variables.
        self.rank = _rank_of(env)
        #: The directory, file or URI to resume from; None: start from the beginning.
        self.resume_path: Optional[str] = env.get("RESUME_FROM_CHECKPOINT") or None
        #: Save below this directory or URI; None outside of a TrainingJob.
        self.checkpoint_dir: Optional[str] = env.get("CHECKPOINT_DIR") or None
        self._status_file = env.get("TRAININGJOB_STATUS_FILE", "")
        self._command_file = env.get("TRAININGJOB_COMMAND_FILE", "")
        self._settings_file = env.get("TRAININGJOB_SETTINGS_FILE", "")
        self._interval = env.get("CHECKPOINT_INTERVAL_SECONDS", "")
        #: True in a rehearsal. Leave out what has effects elsewhere, such as uploads.
        self.rehearsal = env.get("TRAININGJOB_REHEARSAL") == "1"
        self._first_local = all(env.get(name, "") in ("", "0") for name in _LOCAL_RANKS)
        self._beat_file = _beat_file_of(env)
        self._beat_fd: Optional[int] = None
        self._beat: tuple[int, str] = (-1, "")
        self._identity: dict[str, Any] = {}
        if _files.is_id(env.get("TRAININGJOB_UID")):
            self._identity["jobUID"] = env["TRAININGJOB_UID"]
        for field, name in (("attempt", "TRAININGJOB_ATTEMPT"), ("worldSize", "WORLD_SIZE")):
            text = env.get(name, "")
            if text.isdigit() and 1 <= int(text) <= 1_000_000:
                self._identity[field] = int(text)
        self._status: dict[str, Any] = {}
        self._warned: set[str] = set()
        self._lock = threading.RLock()
        self._last_save = time.monotonic()
        # The command that the next save executes, and the last one that a save has executed.
        self._pending: Optional[str] = None
        self._executed: Optional[str] = None
        self._asks = False
        self._stop = False
        # SIGTERM: received, and not saved for yet. The handler sets both without a lock.
        self._terminated = False
        self._owes_save = False
        self._handles = False
        self._previous: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @property
    def interval(self) -> Optional[float]:
        """The longest time between two checkpoints in seconds. Users can change it while the job runs."""
        if self._settings_file:
            seconds = _files.read(self._settings_file).get("intervalSeconds")
            if isinstance(seconds, int) and 1 <= seconds <= 604_800:
                return seconds
        try:
            return max(float(self._interval), 1.0)
        except ValueError:
            return None

    def checkpoint_path(self, step: int) -> str:
        """Returns where to save the checkpoint of a step: <checkpoint_dir>/step-0000012000.

        Outside of a TrainingJob it is below the folder checkpoints.
        """
        return f"{(self.checkpoint_dir or 'checkpoints').rstrip('/')}/step-{step:010d}"

    def report(
        self,
        step: int,
        *,
        total: Optional[int] = None,
        metrics: Optional[Mapping[str, Any]] = None,
        epoch: Optional[float] = None,
        total_epochs: Optional[float] = None,
        step_seconds: Optional[float] = None,
        batch: Optional[str] = None,
        weights: Optional[str] = None,
        loaded: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        """Reports the last finished step, counted over all attempts. Other values stay until you replace them.

        Rehearsals compare three values. batch identifies the samples of this step, such as a hash of their
        numbers, and does not stay. After loading, each rank passes loaded, the path of the checkpoint, and
        weights, a hash that is equal on all ranks that hold the same weights.

        It never raises: what the agent would reject, or what cannot be written, is logged once.
        """
        self.beat(step)
        if not self._reports():
            loads = weights is not None or loaded is not None
            if not (loads and self.rehearsal and self._first_local and self._status_file):
                return
        self._handle_signals()
        with self._lock:
            at = _files.number("step", step, 0, _files.MAX_STEP, True, self._warn)
            if at is None:
                return
            for field, value, low, high, whole in (
                ("totalSteps", total, 1, _files.MAX_STEP, True),
                ("epoch", epoch, 0, 1e9, False),
                ("totalEpochs", total_epochs, 0, 1e9, False),
                ("stepSeconds", step_seconds, 0, 1e6, False),
            ):
                checked = _files.number(field, value, low, high, whole, self._warn)
                if checked is not None:
                    self._status[field] = checked
            if metrics is not None:
                self._status["metrics"] = _files.metrics(metrics, self._warn)
            if at != self._status.get("step"):
                self._status.pop("batch", None)
            for field, text, longest in (
                ("batch", batch, _files.MAX_WORD),
                ("weights", weights, _files.MAX_WORD),
                ("loaded", loaded, _files.MAX_URI),
            ):
                printable = _files.printable(field, text, longest, self._warn)
                if printable is not None:
                    self._status[field] = printable
            self._status.update(step=at, phase="Training")
            self._write_status()

    def beat(
        self,
        step: int,
        *,
        phase: Optional[str] = None,
        where: Optional[str] = None,
        busy: Optional[float] = None,
    ) -> None:
        """Shows on every rank that it makes progress, so that the operator finds a rank that hangs.

        report() does it too. phase is Saving, Evaluating or Waiting (for something outside of the job) while no
        steps are finished; by default it is Training with a new step. where names the place in your program.
        busy is the time in seconds that this process has computed since its start, without waiting for others.

        It takes a few microseconds and never raises.
        """
        if not self._beat_file:
            return
        with self._lock:
            at = _files.number("step", step, 0, _files.MAX_STEP, True, self._warn)
            if at is None:
                return
            if phase is None:
                phase = self._beat[1] if self._beat[0] == at else "Training"
            if phase not in _files.PHASES:
                self._warn("phase", f"phase={phase!r} is not reported: use one of {', '.join(_files.PHASES)}")
                phase = "Training"
            if where is not None and not _files.is_where(where):
                self._warn(
                    "where", f"where={where!r} is not reported: use at most 64 characters without spaces"
                )
                where = None
            seconds = _files.number("busy", busy, 0, 1e12, False, self._warn)
            self._beat = (at, phase)
            try:
                if self._beat_fd is None:
                    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
                    self._beat_fd = os.open(self._beat_file, flags, 0o644)
                os.pwrite(self._beat_fd, _files.beat_line(at, phase, where, seconds), 0)
            except OSError as e:
                self._warn("beat", f"cannot show progress: {e}")

    def _mark(self, phase: str) -> None:
        """Shows a phase of the last step."""
        if self._beat[0] >= 0:
            self.beat(self._beat[0], phase=phase)

    def should_save(self) -> bool:
        """Reports whether to save now: on request, or because the interval has passed since the last commit."""
        self._asks = True
        if not self._polls():
            return False
        with self._lock:
            self._poll()
            interval = self.interval
            saves = (
                self._pending is not None
                or self._owes_save
                or interval is not None
                and time.monotonic() - self._last_save >= interval
            )
            if saves:
                self._mark("Saving")
            return saves

    @property
    def should_stop(self) -> bool:
        """Reports whether to exit with code 0 now, after the save that should_save() has requested.

        A request that arrives after should_save() counts from its next call, so that it is not saved too late.
        """
        if not self._asks and self._polls():
            with self._lock:
                self._poll()
        return self._stop

    def commit(self, path: Union[str, "os.PathLike[str]"], step: int, *, manifest: bool = True) -> None:
        """Marks the checkpoint at path as complete. Rank 0 does it: call it when all ranks have saved.

        In a directory it writes the manifest, which lists the files that are there. Set manifest to False for a
        format whose completeness the agent recognizes. For a URI it reports the commit to the agent.

        Raises ValueError for a path that cannot be a complete checkpoint, and OSError if the manifest cannot be
        written: the checkpoint is then incomplete.
        """
        if self.rank != 0:
            return
        where = os.fspath(path)
        at = _files.number("step", step, 0, _files.MAX_STEP, True, lambda *_: None)
        if at is None:
            raise ValueError(f"the step of a checkpoint is {step!r}: give a whole number from 0")
        committed: Optional[dict[str, Any]] = None
        if "://" in where:
            _files.check_uri(where)
            committed = {"state": "Committed", "uri": where, "step": at}
        elif manifest:
            self._write_manifest(where, at)
        self._warn_if_outside(where)
        self._mark("Training")
        with self._lock:
            self._last_save = time.monotonic()
            if self._owes_save and self._pending is None:
                self._poll()  # the agent writes a command after SIGTERM, which this save has executed
            self._owes_save = False
            if self._pending is not None:
                self._executed, self._pending = self._pending, None
                self._status["commandId"] = self._executed
            if committed is not None:
                self._status["checkpoint"] = committed
            if self._reports():
                self._status.setdefault("step", at)
                self._status.setdefault("phase", "Training")
                self._write_status()

    def complete(self) -> None:
        """Reports that all steps are done. Call it before the program exits."""
        self._mark("Completed")
        if self._handles and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self._on_sigterm:
                signal.signal(signal.SIGTERM, self._previous)
            self._handles = False
        if not self._reports():
            return
        with self._lock:
            self._status.setdefault("step", 0)
            self._status["phase"] = "Completed"
            self._write_status()

    @property
    def _gets_signals(self) -> bool:
        """Whether this is the main thread of a trainer, where Python calls handlers of signals."""
        return bool(self._status_file) and threading.current_thread() is threading.main_thread()

    def _reports(self) -> bool:
        return bool(self._status_file) and self.rank == 0

    def _polls(self) -> bool:
        self._handle_signals()
        return self.rank == 0

    def _poll(self) -> None:
        """Looks for a command that no save has executed."""
        if self._terminated:
            self._stop = True
        command = _files.read(self._command_file) if self._command_file else {}
        name, identifier = command.get("command"), command.get("id")
        if name not in ("Checkpoint", "CheckpointAndExit") or not _files.is_id(identifier):
            return
        if name == "CheckpointAndExit":
            self._stop = True
        if identifier != self._executed:
            self._pending = identifier

    def _write_status(self) -> None:
        try:
            _files.write(self._status_file, self._status, sync=False)
        except (OSError, ValueError) as e:
            self._warn("status", f"cannot report progress: {e}")

    def _write_manifest(self, directory: str, step: int) -> None:
        if not os.path.isdir(directory):
            raise ValueError(
                f"{directory} is not a directory: save into job.checkpoint_path(step), or set manifest=False for "
                "a file of Lightning or Keras"
            )
        message = {"version": 1, **self._identity, "step": step, "files": _files.files_of(directory)}
        _files.write(os.path.join(directory, _files.MANIFEST), message, sync=True)

    def _warn_if_outside(self, where: str) -> None:
        if not self.checkpoint_dir:
            return
        base = self.checkpoint_dir.rstrip("/")
        if "://" not in base:
            base, where = os.path.abspath(base), os.path.abspath(where)
        if not where.startswith(base + "/"):
            self._warn(
                "outside", f"the agent does not find {where}: save below CHECKPOINT_DIR, which is {base}"
            )

    def _warn(self, key: str, text: str) -> None:
        if key not in self._warned and len(self._warned) < 100:
            self._warned.add(key)
            _log.warning("%s", text)

    def _handle_signals(self) -> None:
        """Handles SIGTERM in the main thread of a trainer, and calls the handler that was there before."""
        if self._handles or not self._gets_signals:
            return
        self._handles = True
        previous = signal.getsignal(signal.SIGTERM)
        if previous is not None:  # otherwise it belongs to a library in C, which Python cannot call
            self._previous = previous
            signal.signal(signal.SIGTERM, self._on_sigterm)
            atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        """While Python exits it restores the default handlers, and SIGTERM would change the exit code."""
        if signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _on_sigterm(self, number: int, frame: Optional[FrameType]) -> None:
        self._terminated = self._owes_save = True
        if callable(self._previous):
            self._previous(number, frame)

    def _after_fork(self) -> None:
        """A child, such as a DataLoader's worker, ends on SIGTERM as if this package were not there."""
        self._lock = threading.RLock()
        if self._handles and signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, self._previous)
        self._handles = self._terminated = self._owes_save = False
