#!/usr/bin/env python3
"""Trains a small model with XGBoost on all ranks of a gang: rank 0 also runs the tracker.

Where the tracker is, and which task this is, stands in DMLC_*. Every rank exits 0 only if an allreduce gave the
right sum, and all ranks have trained the same model. The first attempt adds up for as many seconds as the
argument says.
"""

import hashlib
import os
import socket
import sys
import time

import numpy
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
tracker = None
if rank == 0:
    tracker = RabitTracker(n_workers=size, host_ip="0.0.0.0", port=int(os.environ["MASTER_PORT"]), sortby="task")
    tracker.start()
deadline = time.monotonic() + 300
while True:  # until the tracker's name is known, and it listens
    try:
        socket.getaddrinfo(os.environ["DMLC_TRACKER_URI"], None)
        break
    except OSError:
        if time.monotonic() > deadline:
            raise
        time.sleep(0.5)

collective.init(dmlc_communicator="rabit", dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
                dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]), dmlc_task_id=os.environ["DMLC_TASK_ID"])
assert collective.get_world_size() == size, (collective.get_world_size(), size)
assert collective.get_rank() == rank, (collective.get_rank(), rank)
total = collective.allreduce(numpy.array([rank + 1.0]), collective.Op.SUM)[0]
assert total == size * (size + 1) / 2, total

print("all have met", flush=True)
seconds = float(sys.argv[1]) if len(sys.argv) > 1 and os.environ["TRAININGJOB_ATTEMPT"] == "1" else 0
until = time.monotonic() + seconds
while collective.broadcast(time.monotonic() < until, 0):
    time.sleep(0.2)

random = numpy.random.default_rng(rank)
data = random.normal(size=(500, 4))
matrix = xgboost.DMatrix(data, data[:, 0] + data[:, 1] > 0)
model = xgboost.train({"objective": "binary:logistic", "tree_method": "hist", "nthread": 1}, matrix, 5)
digest = hashlib.sha256(model.save_raw("json")).hexdigest()
assert collective.broadcast(digest, 0) == digest, "the ranks have trained different models"
collective.finalize()
if tracker is not None:
    tracker.wait_for()
print("rank %d of %d: the sum is %d, the model %s" % (rank, size, total, digest), flush=True)
