#!/usr/bin/env python3
"""Trains a small network on several ranks. You can stop it at any time; it resumes bit for bit.

An interrupted training computes the same numbers as an uninterrupted one, because
  - the random batch of a step depends only on the seed, the step and the rank, not on the steps before it;
  - the gradients are summed in one flat all-reduce. torch's DistributedDataParallel sums them in buckets,
    and changes their order after the first step of a process. A resumed run then rounds differently in about
    half of its steps;
  - one thread computes, and the optimizer's state is part of the checkpoint.

docs/checkpoints.md explains TRAININGJOB_*, CHECKPOINT_* and RESUME_FROM_CHECKPOINT. Only torch is required.
"""

import argparse
import hashlib
import io
import json
import os
import signal
import sys
import threading
import time

# Before torch starts threads, which inherit the mask: only Trainer.listen may receive the signal.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

MANIFEST = "trainingjob-manifest.json"


def write(path, data, sync=True):
    """Replaces a file atomically: readers see the old content or the new one. sync is for power failures."""
    with open(path + ".tmp", "wb") as f:
        f.write(data)
        f.flush()
        if sync:
            os.fsync(f.fileno())
    os.rename(path + ".tmp", path)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.attempt = int(os.environ.get("TRAININGJOB_ATTEMPT", "1"))
        self.dir = os.environ.get("CHECKPOINT_DIR", "")
        self.status_file = os.environ.get("TRAININGJOB_STATUS_FILE", "")
        self.command_file = os.environ.get("TRAININGJOB_COMMAND_FILE", "")
        self.settings_file = os.environ.get("TRAININGJOB_SETTINGS_FILE", "")
        self.interval = float(os.environ.get("CHECKPOINT_INTERVAL_SECONDS", "60"))
        self.rehearsal = os.environ.get("TRAININGJOB_REHEARSAL") == "1"
        beat_file = os.environ.get("TRAININGJOB_BEAT_FILE", "")
        self.beat_fd = os.open(beat_file, os.O_WRONLY | os.O_CREAT, 0o644) if beat_file else None
        self.busy = 0.0
        torch.manual_seed(args.seed)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        width = args.width
        self.model = torch.nn.Sequential(
            torch.nn.Linear(32, width), torch.nn.Tanh(), torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.step = 0
        self.saved = None
        self.carried_out = ""
        # What rehearsals compare: the samples of the step, what was loaded, and the weights then.
        self.compared = {}
        # While this lock is free, model, optimizer and step are consistent: a thread that acquires it can save.
        self.whole = threading.Lock()

    def resume(self):
        path = os.environ.get("RESUME_FROM_CHECKPOINT", "")
        if path and not self.args.ignore_resume:
            self.load(path)
        self.compared["weights"] = self.weights()[:16]

    def load(self, path):
        state = torch.load(os.path.join(path, "state.pt"))
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = self.saved = state["step"]
        self.compared["loaded"] = path

    def weights(self):
        """Returns a hash of the weights."""
        total = hashlib.sha256()
        for p in self.model.parameters():
            total.update(p.detach().numpy().tobytes())
        return total.hexdigest()

    def save(self, why):
        """Saves a checkpoint; only rank 0 calls it, with the lock held. The manifest, written last, completes it."""
        if self.saved == self.step or not self.dir:
            return
        self.beat("Saving")
        where = self.place()
        os.makedirs(where, exist_ok=True)
        data = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step}, data)
        data = data.getvalue()
        write(os.path.join(where, "state.pt"), data)
        write(os.path.join(where, MANIFEST), json.dumps({
            "version": 1, "jobUID": os.environ.get("TRAININGJOB_UID", ""), "attempt": self.attempt, "step": self.step,
            "worldSize": self.world, "framework": "pytorch",
            "files": [{"name": "state.pt", "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}],
        }).encode())
        self.saved = self.step
        self.beat("Training")
        self.log(event="save", step=self.step, why=why)

    def place(self):
        """Returns the directory for the checkpoint of this step."""
        return os.path.join(self.dir, "step-%010d" % self.step)

    def current_interval(self):
        """Returns the current checkpoint interval in seconds, which users can change during an attempt."""
        try:
            with open(self.settings_file) as f:
                return json.load(f)["intervalSeconds"]
        except (OSError, ValueError, KeyError):
            return self.interval

    def report(self, phase, loss=None):
        """Reports the progress. Rank 0 does it; in a rehearsal each rank reports what it has loaded."""
        if not self.status_file or self.rank != 0 and not (self.rehearsal and loss is None):
            return
        status = {"step": self.step, "totalSteps": self.args.steps, "phase": phase, **self.compared}
        if loss is not None:
            status["metrics"] = {"loss": repr(loss)}
        if self.carried_out:
            status["commandId"] = self.carried_out
        write(self.status_file, json.dumps(status).encode(), sync=False)

    def beat(self, phase, where="compute"):
        """Shows the progress and the place of every rank, so that the operator finds a rank that hangs or is slow."""
        if self.beat_fd is not None:
            line = "%d %s %s busy=%.6f" % (self.step, phase, where, self.busy)
            os.pwrite(self.beat_fd, line.ljust(63).encode() + b"\n", 0)

    def listen(self):
        """Handles SIGTERM and commands in its own thread, and saves the last complete step. The main thread
        cannot do this: it hangs in the all-reduce when another rank has stopped, and Python runs signal handlers
        only in the main thread."""
        while True:
            asked = signal.sigtimedwait([signal.SIGTERM], 0.2)
            command = {}
            if asked is None and self.command_file and self.rank == 0:
                try:
                    with open(self.command_file) as f:
                        command = json.load(f)
                except (OSError, ValueError):
                    pass
                if command.get("id") == self.carried_out:
                    command = {}
            if asked is None and not command:
                continue
            with self.whole:
                if self.rank == 0 and not self.args.die_at_once:
                    self.save("signal" if asked is not None else "command " + command["id"])
                    self.carried_out = command.get("id", self.carried_out)
                    self.report("Training")
                if asked is not None or command.get("command") == "CheckpointAndExit":
                    os._exit(0)

    def log(self, **what):
        if self.rank != 0:
            return
        line = json.dumps({"attempt": self.attempt, **what})
        print(line, flush=True)
        if self.args.log:
            with open(self.args.log, "a") as f:
                f.write(line + "\n")

    def gradients(self):
        """Sums the gradients of all ranks in one flat all-reduce; see the top of this file."""
        flat = torch.cat([p.grad.reshape(-1) for p in self.model.parameters()])
        dist.all_reduce(flat)
        flat /= self.world
        at = 0
        for p in self.model.parameters():
            p.grad.copy_(flat[at:at + p.numel()].view_as(p))
            at += p.numel()

    def batch(self):
        """Returns the inputs of the next step."""
        g = torch.Generator().manual_seed((self.args.seed * 1_000_003 + self.step) * 1_000 + self.rank)
        return torch.randn(16, 32, generator=g)

    def train(self):
        target = torch.linspace(-1, 1, 32)
        last_save = time.monotonic()
        self.log(event="start", step=self.step, resumed=os.environ.get("RESUME_FROM_CHECKPOINT", ""))
        self.report("Training")
        while self.step < self.args.steps:
            began = time.monotonic()
            x = self.batch()
            loss = ((self.model(x) - torch.sin(x @ target).unsqueeze(1)) ** 2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            mean = loss.detach().clone()
            self.busy += time.monotonic() - began
            self.beat("Training", "all-reduce")
            try:
                self.gradients()
                dist.all_reduce(mean)
            except RuntimeError as e:  # another rank has stopped
                with self.whole:
                    if self.rank == 0 and not self.args.die_at_once:
                        self.save("peer")
                time.sleep(2)  # if the whole gang is stopped, SIGTERM follows, and listen exits with 0
                sys.exit("step %d: %s" % (self.step + 1, e))
            mean = (mean / self.world).item()
            with self.whole:
                self.optimizer.step()
                self.step += 1
                self.compared["batch"] = hashlib.sha256(x.numpy().tobytes()).hexdigest()[:16]
                self.beat("Training")
                # The hexadecimal form of a float loses no bit.
                self.log(event="step", step=self.step, loss=mean.hex())
                if self.rank == 0 and time.monotonic() - last_save >= self.current_interval():
                    self.save("interval")
                    last_save = time.monotonic()
                self.report("Training", mean)
            if self.attempt == 1 or self.step < 50 or self.rehearsal:
                time.sleep(self.args.step_seconds)
        with self.whole:
            if self.rank == 0:
                self.save("end")
            self.log(event="end", step=self.step, weights=self.weights())
            self.report("Completed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--step-seconds", type=float, default=0,
                        help="pause after each step of the first attempt and of a rehearsal, for tests that interrupt"
                        " it, and after the first 50 steps of every attempt, for tests that detect a wrong start at 0")
    parser.add_argument("--log", default="", help="file to which rank 0 also appends its losses")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--die-at-once", action="store_true", help="do not save on SIGTERM, for tests")
    parser.add_argument("--ignore-resume", action="store_true", help="always start at step 0, for tests")
    args = parser.parse_args()
    trainer = Trainer(args)
    threading.Thread(target=trainer.listen, daemon=True).start()
    dist.init_process_group("gloo")
    trainer.resume()
    trainer.train()
    try:
        dist.barrier()  # no rank leaves while another still needs it
    except RuntimeError:
        pass  # another rank has left already: every step is trained
    # A normal exit of the interpreter stops the listening thread inside torch's C++ code. That occasionally
    # aborts the process ("terminate called without an active exception"), and a finished rank would fail.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
