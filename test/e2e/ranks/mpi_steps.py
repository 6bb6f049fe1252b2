"""Computes a sum over all processes of MPI in each step, and saves at SIGTERM and at the end.

The state is the sum of all steps, so that a lost or repeated step changes it.
"""

import hashlib
import json
import os
import signal
import sys
import time

import mpi

asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
steps = int(sys.argv[1])
rank, size = mpi.start()
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
step, state = 0, 0.0
resume = os.environ.get("RESUME_FROM_CHECKPOINT", "")
if resume:
    with open(os.path.join(resume, "state.json")) as f:
        step, state = json.load(f)


def replace(path, text):
    with open(path + ".tmp", "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".tmp", path)


def report(phase):
    if rank == 0:
        replace(os.environ["TRAININGJOB_STATUS_FILE"], json.dumps({"step": step, "totalSteps": steps, "phase": phase}))


def save():
    if rank != 0:
        return
    where = os.path.join(os.environ["CHECKPOINT_DIR"], "step-%010d" % step)
    os.makedirs(where, exist_ok=True)
    text = json.dumps([step, state])
    replace(os.path.join(where, "state.json"), text)
    replace(os.path.join(where, "trainingjob-manifest.json"), json.dumps({
        "version": 1, "jobUID": os.environ["TRAININGJOB_UID"], "attempt": attempt, "step": step, "worldSize": size,
        "framework": "mpi", "files": [{"name": "state.json", "size": len(text),
                                       "sha256": hashlib.sha256(text.encode()).hexdigest()}],
    }))


while step < steps:
    if mpi.allreduce(1.0 if asked else 0.0):  # all processes stop after the same step
        save()
        report("Training")
        print("rank %d: saved step %d" % (rank, step), flush=True)
        sys.exit(0)
    state += mpi.allreduce((rank + 1) * (step + 1))
    step += 1
    report("Training")
    if attempt == 1:
        time.sleep(0.1)
save()
report("Completed")
mpi.end()
if state != size * (size + 1) / 2 * steps * (steps + 1) / 2:
    sys.exit("rank %d: the sum of %d steps is %s" % (rank, steps, state))
print("rank %d: done, from %s" % (rank, resume or "the beginning"), flush=True)
