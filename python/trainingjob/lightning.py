"""Callback for Lightning:

trainer = Trainer(callbacks=[TrainingJobCallback()], enable_checkpointing=False, ...)
trainer.fit(model, ckpt_path=job.resume_path)
"""

import signal
from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from trainingjob import _torch, job
from trainingjob._job import Job


class TrainingJobCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Reports steps and metrics, saves on request and at the job's interval, and stops after a save.

    After SIGTERM fit() returns, without another validation, as after a request to save and stop.
    """

    def __init__(self, job: Job = job) -> None:
        self._job = job
        self._step = -1
        self._stopped = False
        self._handler: Any = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._handler = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        # Since setup Lightning has added a handler that broadcasts. Ranks that get SIGTERM at different times
        # take its message for that of another collective, and one of them ends before it has saved.
        if self._job._gets_signals and self._handler is not None:
            signal.signal(signal.SIGTERM, self._handler)
        self._step, self._stopped = trainer.global_step, False
        if trainer.ckpt_path:
            self._job.report(self._step, loaded=trainer.ckpt_path)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        step = trainer.global_step
        if step == self._step:
            return  # gradients are still accumulated
        self._step = step
        total = trainer.estimated_stepping_batches
        self._job.report(
            step,
            total=int(total) if 0 < total < float("inf") else None,
            epoch=trainer.current_epoch,
            metrics=trainer.callback_metrics or None,
            batch=_torch.batch_of(batch) if self._job.rehearsal else None,
        )
        save, stop = trainer.strategy.broadcast((self._job.should_save(), self._job.should_stop))
        if save:
            path = self._job.checkpoint_path(step) + ".ckpt"
            trainer.save_checkpoint(path)  # on all ranks, with a barrier at its end
            self._job.commit(path, step, manifest=False)
            self._job.beat(step, phase="Training")
        if stop:
            self._stopped = trainer.should_stop = True
            # Lightning ignores should_stop before these minima.
            trainer.fit_loop.min_epochs = 0
            trainer.fit_loop.epoch_loop.min_steps = 0
            trainer.limit_val_batches = 0

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._job.beat(trainer.global_step, phase="Evaluating")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._job.beat(trainer.global_step, phase="Training")

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        # Before the files are written. Of other callbacks' saves, the next step shows the end.
        self._job.beat(trainer.global_step, phase="Saving")

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if not self._stopped:
            self._job.complete()
