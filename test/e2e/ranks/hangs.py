"""examples/pytorch/train.py, with ranks that hang or take long at one step of the first attempt.

HANG_RANK is the rank, or all, HANG_STEP the last step that it finishes before, and HANG_HOW what it does then:
  sleep     sleeps before the all-reduce, forever
  disk      waits in state D, forever, like a process that waits for a disk
  evaluate  evaluates for HANG_SECONDS, labelled
  save      saves for HANG_SECONDS, labelled
"""

import os
import sys
import time

sys.path.insert(0, "/opt")
import train  # noqa: E402

RANK, STEP = os.environ.get("HANG_RANK", ""), int(os.environ.get("HANG_STEP", "-1"))
HOW, SECONDS = os.environ.get("HANG_HOW", ""), float(os.environ.get("HANG_SECONDS", "0"))


def wait_for_disk():
    """The parent of a vfork is in state D until its child executes a program. This child opens a FIFO first, which
    blocks, because there is no writer."""
    fifo = "/tmp/blocks"
    os.mkfifo(fifo)
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0)])


class Trainer(train.Trainer):
    def label(self, phase):
        self.beat(phase)
        self.report(phase)

    def beat(self, phase, where="compute"):
        if where == "all-reduce" and self.attempt == 1 and self.step == STEP and RANK in ("all", str(self.rank)):
            if HOW == "sleep":
                time.sleep(1e6)
            elif HOW == "disk":
                wait_for_disk()
            else:
                self.label({"evaluate": "Evaluating", "save": "Saving"}[HOW])
                time.sleep(SECONDS)
                self.label("Training")
        super().beat(phase, where)


train.Trainer = Trainer
train.main()
