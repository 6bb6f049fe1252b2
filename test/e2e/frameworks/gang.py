"""What every trainer of these tests tells the operator and the test, in whatever framework it trains.

A line for each step goes to LOG, where the test compares attempts.
docs/checkpoints.md explains the variables.
"""

import atexit
import hashlib
import json
import os
import signal
import time

ATTEMPT = int(os.environ.get("TRAININGJOB_ATTEMPT", "1"))
DIR = os.environ["CHECKPOINT_DIR"]
LOG = "/checkpoints/losses.jsonl"
RESUME = os.environ.get("RESUME_FROM_CHECKPOINT") or None
STEPS = int(os.environ.get("STEPS", "100"))
INTERVAL = 10  # steps between saves
# The attempt that is not interrupted. A rehearsal interrupts all.
LAST = 1_000_000 if os.environ.get("TRAININGJOB_REHEARSAL") else 4


class Gang:
    """Watches for requests to save and stop, and writes down what happened. Only the first rank writes."""

    def __init__(self, first, reports=True):
        """reports: this reports and answers requests; otherwise the framework or package trainingjob does."""
        self.first, self.reports, self.terminated, self.command, self.done = first, reports, False, {}, ""
        signal.signal(signal.SIGTERM, self._terminate)
        # While Python exits it restores the default handlers.
        atexit.register(signal.signal, signal.SIGTERM, signal.SIG_IGN)

    def _terminate(self, *_):
        self.terminated = True

    def log(self, event, **what):
        if not self.first:
            return
        line = json.dumps({"attempt": ATTEMPT, "event": event, **what})
        print(line, flush=True)
        with open(LOG, "a") as f:
            f.write(line + "\n")

    def stepped(self, step, loss):
        """Records a step, pauses in all attempts but the last, and returns whether this rank was asked to save."""
        self.log("step", step=step, loss=float(loss).hex())
        self.report(step, loss, "Training")
        if ATTEMPT < LAST:
            time.sleep(float(os.environ.get("PAUSE", "0")))
        return self.asked()

    def asked(self):
        if self.first and not self.terminated:
            try:
                with open(os.environ.get("TRAININGJOB_COMMAND_FILE", "")) as f:
                    self.command = json.load(f)
            except (OSError, ValueError):
                pass
        return self.terminated or self.command.get("id", "") != self.done

    def stops(self):
        """Returns whether this rank was asked to stop after the save."""
        return self.terminated or self.command.get("command") == "CheckpointAndExit"

    def saved(self, step):
        why = "interval"
        self.asked()
        if self.terminated:
            why = "signal"
        elif self.command.get("id", "") != self.done:
            why = "command " + self.command["id"]
        self.log("save", step=step, why=why)

    def report(self, step, loss, phase):
        path = os.environ.get("TRAININGJOB_STATUS_FILE")
        if not path or not self.first or not self.reports:
            return
        status = {"step": step, "totalSteps": STEPS, "phase": phase, "metrics": {"loss": repr(float(loss))}}
        if self.done:
            status["commandId"] = self.done
        with open(path + ".tmp", "w") as f:
            json.dump(status, f)
        os.rename(path + ".tmp", path)

    def acknowledge(self, step, loss):
        """Everything is saved: reports that the request is carried out."""
        self.done = self.command.get("id", "")
        self.report(step, loss, "Training")

    def finished(self, step, loss, weights):
        """weights are arrays of NumPy."""
        total = hashlib.sha256()
        for array in weights:
            total.update(array.tobytes())
        self.log("end", step=step, weights=total.hexdigest())
        self.report(step, loss, "Completed")
