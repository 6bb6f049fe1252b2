#!/usr/bin/env python3
"""Repeats an all-reduce over the present ranks, under torchrun.

Worker 0 records each size of the gang. The first attempt ends when the gang was complete, has lost a rank, and is
complete again. Other attempts end after one all-reduce.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

whole = int(sys.argv[1])
first = os.environ["TRAININGJOB_ATTEMPT"] == "1"
notes = "/tmp/sizes"  # in the container's file system: torchrun restarts processes, not the container

dist.init_process_group("gloo")
size = dist.get_world_size()
if os.environ["POD_NAME"].endswith("-worker-0"):
    with open(notes, "a") as f:
        f.write("%d\n" % size)
    seen = open(notes).read().split()
    print("sizes so far:", *seen, flush=True)
    if size == whole:
        print("the gang is whole", flush=True)
    done = size == whole and (not first or seen.count(str(whole)) > 1)
else:
    done = True

while True:  # all ranks must be done; only Worker 0 can report otherwise
    total = torch.tensor([1.0, 1.0 if done else 0.0])
    dist.all_reduce(total)
    assert total[0].item() == size, (total, size)
    if total[1].item() == size:
        break
    time.sleep(0.2)
print("rank %d of %d: done" % (dist.get_rank(), size), flush=True)
dist.destroy_process_group()
