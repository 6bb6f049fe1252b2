"""Callback for the Trainer of Hugging Face:

args = TrainingArguments(output_dir=job.checkpoint_dir or "checkpoints", save_strategy="no", ...)
trainer = Trainer(model, args, callbacks=[TrainingJobCallback()], ...)
trainer.train(resume_from_checkpoint=job.resume_path)
"""

import os
from typing import Any, Optional

from transformers import TrainerCallback

from trainingjob import _torch, job
from trainingjob._job import Job


class TrainingJobCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Reports steps and metrics, saves on request and at the job's interval, and stops after a save."""

    def __init__(self, job: Job = job) -> None:
        self._job = job
        self._metrics: dict[str, Any] = {}
        self._stopped = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._metrics, self._stopped = {}, False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not control.should_log:  # on_log follows, with the metrics of this step
            self._report(args, state)
        save, stop = _torch.broadcast(self._job.should_save(), self._job.should_stop, args.device)
        if save:
            control.should_save = True
        if stop:
            self._stopped = control.should_training_stop = True
        self._mark(state, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._mark(state, control)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._job.beat(state.global_step, phase="Evaluating")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._job.beat(state.global_step, phase="Saving" if control.should_save else "Training")

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Optional[dict[str, Any]] = None, **kwargs: Any
    ) -> None:
        values = logs or {}
        self._metrics.update(
            (k, v) for k, v in values.items() if k != "epoch" and isinstance(v, (int, float))
        )
        self._report(args, state)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # The agent recognizes the Trainer's checkpoints, and leaves their deletion to save_total_limit.
        path = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        self._job.commit(path, state.global_step, manifest=False)
        self._job.beat(state.global_step, phase="Training")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._stopped:
            self._job.complete()

    def _mark(self, state: Any, control: Any) -> None:
        """Shows what the Trainer does next on all ranks. Its own callback has decided before this one."""
        if control.should_evaluate:
            self._job.beat(state.global_step, phase="Evaluating")
        elif control.should_save:
            self._job.beat(state.global_step, phase="Saving")

    def _report(self, args: Any, state: Any) -> None:
        self._job.report(
            state.global_step,
            total=state.max_steps if state.max_steps > 0 else None,
            epoch=state.epoch,
            total_epochs=args.num_train_epochs,
            metrics=self._metrics or None,
        )
