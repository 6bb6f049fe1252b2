"""Callback for Keras 3:

    model = keras.models.load_model(job.resume_path) if job.resume_path else build()
    model.fit(..., initial_epoch=int(model.optimizer.iterations) // steps_per_epoch,
              callbacks=[TrainingJobCallback()])

Keras cannot resume within an epoch: the epoch of the checkpoint starts again, with the saved weights.
"""

import os
import tempfile
from typing import Any, Callable, Optional

import keras

from trainingjob import _torch, job
from trainingjob._job import Job

Decision = tuple[bool, bool]


def _broadcast(save: bool, stop: bool) -> Decision:
    if keras.backend.backend() == "jax":
        import jax

        if jax.process_count() > 1:
            from jax.experimental import multihost_utils

            saves, stops = multihost_utils.broadcast_one_to_all([int(save), int(stop)])
            return bool(saves), bool(stops)
    elif keras.backend.backend() == "torch":
        from keras.src.backend.torch.core import get_device

        return _torch.broadcast(save, stop, get_device())
    return save, stop


class TrainingJobCallback(keras.callbacks.Callback):  # type: ignore[misc, unused-ignore]
    """Reports steps and metrics, saves the model on request and at the job's interval, and stops after a save.

    With several processes on JAX and torch, all of them follow rank 0. On TensorFlow, pass a function broadcast
    that returns the (save, stop) of rank 0 on all ranks.
    """

    def __init__(self, job: Job = job, broadcast: Optional[Callable[[bool, bool], Decision]] = None) -> None:
        super().__init__()
        self._job = job
        self._broadcast = broadcast or _broadcast
        self._step = self._in_epoch = 0
        self._total: Optional[int] = None
        self._epoch = 0
        self._stopped = False

    def on_train_begin(self, logs: Optional[dict[str, Any]] = None) -> None:
        # Under a strategy of TensorFlow the variable is one of several devices, which int() does not take.
        self._step = int(keras.ops.convert_to_numpy(self.model.optimizer.iterations))
        self._stopped = False
        self._total = None

    def on_epoch_begin(self, epoch: int, logs: Optional[dict[str, Any]] = None) -> None:
        self._epoch, self._in_epoch = epoch, 0
        epochs, steps = self.params.get("epochs"), self.params.get("steps")
        if self._total is None and epochs and steps:
            self._total = self._step + (epochs - epoch) * steps

    def on_train_batch_end(self, batch: int, logs: Optional[dict[str, Any]] = None) -> None:
        # With steps_per_execution, a call is for several steps.
        self._step += batch + 1 - self._in_epoch
        self._in_epoch = batch + 1
        self._report(logs)
        save, stop = self._broadcast(self._job.should_save(), self._job.should_stop)
        if save:
            self._job.beat(self._step, phase="Saving")
            self._save()
            self._job.beat(self._step, phase="Training")
        if stop:
            self._stopped = self.model.stop_training = True

    def on_test_begin(self, logs: Optional[dict[str, Any]] = None) -> None:
        self._job.beat(self._step, phase="Evaluating")

    def on_test_end(self, logs: Optional[dict[str, Any]] = None) -> None:
        self._job.beat(self._step, phase="Training")

    def _save(self) -> None:
        path = self._job.checkpoint_path(self._step) + ".keras"
        if self._job.rank != 0:
            # All ranks take part in reading the model, and one writes the file.
            with tempfile.TemporaryDirectory() as elsewhere:
                self.model.save(os.path.join(elsewhere, os.path.basename(path)))
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.model.save(path)
        self._job.commit(path, self._step, manifest=False)

    def on_epoch_end(self, epoch: int, logs: Optional[dict[str, Any]] = None) -> None:
        if not self._stopped:
            self._epoch = epoch + 1
            self._report(logs)

    def on_train_end(self, logs: Optional[dict[str, Any]] = None) -> None:
        if not self._stopped:
            self._job.complete()

    def _report(self, logs: Optional[dict[str, Any]]) -> None:
        epochs = self.params.get("epochs")
        self._job.report(
            self._step, total=self._total, epoch=self._epoch, total_epochs=epochs, metrics=logs or None
        )
