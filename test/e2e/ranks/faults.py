"""examples/pytorch/train.py with a fault that a rehearsal must find.

FAULT is its name (see FAULTS); empty: the trainer is sound. SAVE_SECONDS is how long a save takes.
EVALUATE_SECONDS is how long each evaluation takes, after every 20 steps; 0: there is none.
CLAIMED_STEP_SECONDS is the step time that it reports; empty: none.
"""

import contextlib
import glob
import json
import os
import sys
import time

sys.path.insert(0, "/opt")
import torch  # noqa: E402
import train  # noqa: E402

FAULTS = {
    "ignores-resume": "starts at step 0",
    "one-shard": "saves the part of the state that rank 0 holds",
    "torn-saves": "writes the manifest before the data",
    "random-state": "begins with the first batch again after each start",
    "deaf-in-evaluation": "reads no commands while it evaluates",
    "in-place": "overwrites its only checkpoint",
    "outside": "saves outside of CHECKPOINT_DIR",
    "exit-code": "exits with 1 after SIGTERM",
    "never-reports": "writes no status",
    "wrong-step": "reports 100 times the step",
    "slow-saves": "needs longer for a save than its grace period",
    "older": "resumes from the checkpoint before the one that it is given",
}
FAULT = os.environ.get("FAULT", "")
CLAIMED = os.environ.get("CLAIMED_STEP_SECONDS", "")
EVALUATE = float(os.environ.get("EVALUATE_SECONDS", "0"))
SAVE = float(os.environ.get("SAVE_SECONDS", "0"))
if FAULT == "slow-saves":
    SAVE = 1.5 * float(os.environ["TRAININGJOB_GRACE_SECONDS"])
STATUS, COMPLETE = os.environ.get("TRAININGJOB_STATUS_FILE", ""), train.MANIFEST
write = train.write
held = {}


def slowly(path, data, mode="wb"):
    """Writes a file within SAVE seconds, in parts."""
    parts = max(1, int(SAVE / 0.02))
    size = -(-len(data) // parts)
    with open(path, mode) as f:
        for at in range(0, len(data), size):
            f.write(data[at:at + size])
            f.flush()
            time.sleep(SAVE / parts)


def faulty_write(path, data, sync=True):
    name = os.path.basename(path)
    if path == STATUS and CLAIMED:
        data = json.dumps({**json.loads(data), "stepSeconds": float(CLAIMED)}).encode()
    elif path == STATUS and FAULT == "wrong-step":
        status = json.loads(data)
        status["step"] *= 100
        del status["totalSteps"]
        data = json.dumps(status).encode()
    elif name == "state.pt" and FAULT == "torn-saves":
        held[path] = data
        return
    elif name == "state.pt" and FAULT == "in-place":
        slowly(path, data)
        return
    elif name == "state.pt":
        slowly(path + ".part", data)
        os.rename(path + ".part", path)
        return
    write(path, data, sync)
    if name == COMPLETE and FAULT == "torn-saves":
        path, data = held.popitem()
        with open(path, "wb") as f:
            f.truncate(len(data))  # as a trainer that reserves the space
        slowly(path, data, "r+b")


class Trainer(train.Trainer):
    def __init__(self, args):
        args.ignore_resume = args.ignore_resume or FAULT == "ignores-resume"
        super().__init__(args)
        self.began = 0

    def load(self, path):
        fresh = [p.detach().clone() for p in self.model.parameters()]
        super().load(self.before(path) if FAULT == "older" else path)
        self.began = self.step
        if FAULT == "one-shard":
            self.keep_shard(fresh)

    def keep_shard(self, fresh):
        """Keeps the first part of all parameters, that of rank 0. The others are as at the start."""
        left = sum(p.numel() for p in fresh) // self.world
        with torch.no_grad():
            for p, old in zip(self.model.parameters(), fresh):
                p.view(-1)[left:] = old.view(-1)[left:]
                left = max(0, left - p.numel())

    def before(self, path):
        """Returns the newest complete checkpoint before path, if there is one."""
        base = os.path.dirname(self.dir)
        manifests = glob.glob(os.path.join(base, "attempt-*", "step-*", COMPLETE))
        complete = map(os.path.dirname, manifests)
        older = [c for c in complete if os.path.basename(c) < os.path.basename(path)]
        return max(older, key=os.path.basename, default=path)

    def batch(self):
        """The inputs are small, so that the network learns within 100 steps, and a lost part of it shows."""
        step = self.step
        if FAULT == "random-state":
            self.step -= self.began
        try:
            return 0.2 * super().batch()
        finally:
            self.step = step

    def place(self):
        if FAULT == "outside":
            return "/tmp/checkpoints/step-%010d" % self.step
        return os.path.join(self.dir, "last") if FAULT == "in-place" else super().place()

    def save(self, why):
        super().save(why)
        if FAULT == "exit-code" and why == "signal":
            os._exit(1)

    def beat(self, phase, where="compute"):
        # All ranks are here after each step without the lock, so that a save is possible.
        if where == "all-reduce" and FAULT != "deaf-in-evaluation":
            self.evaluate()
        super().beat(phase, where)

    def report(self, phase, loss=None):
        if FAULT != "never-reports":
            super().report(phase, loss)
        if loss is not None and FAULT == "deaf-in-evaluation":
            self.evaluate()  # with the lock

    def evaluate(self):
        if EVALUATE == 0 or self.rank != 0 or self.step == self.began or self.step % 20 != 0:
            return
        for phase, seconds in (("Evaluating", EVALUATE), ("Training", 0)):
            with contextlib.nullcontext() if FAULT == "deaf-in-evaluation" else self.whole:
                super().beat(phase)
                self.report(phase)
            time.sleep(seconds)


if FAULT and FAULT not in FAULTS:
    sys.exit("FAULT is %s: use one of %s" % (FAULT, ", ".join(FAULTS)))
train.write = faulty_write
train.Trainer = Trainer
train.main()
