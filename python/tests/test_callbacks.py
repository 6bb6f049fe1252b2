"""The callbacks, with small fakes of the interfaces of transformers 5.24, lightning 2.6 and keras 3.15."""

import importlib
import signal
import sys
import types
import unittest
from types import SimpleNamespace as Fake
from unittest import mock


class FakeJob:
    def __init__(self):
        self.calls, self.rank, self.saves, self.should_stop = [], 0, False, False
        self.rehearsal, self.words = False, []
        self.beats = []
        self._gets_signals = False

    def report(self, step, **values):
        self.words.append((values.get("batch"), values.get("loaded")))
        if not values.get("loaded"):
            self.calls.append(f"report {step} of {values.get('total')} {values.get('metrics')}")

    def beat(self, step, *, phase):
        self.beats.append(f"{step} {phase}")

    def should_save(self):
        return self.saves

    def checkpoint_path(self, step):
        return f"/c/step-{step}"

    def commit(self, path, step, manifest=True):
        self.calls.append(f"commit {path} {step} {manifest}")

    def complete(self):
        self.calls.append("complete")


class FakeTensor:
    pass


def module(name, **content):
    result = types.ModuleType(name)
    result.__dict__.update(content)
    return result


def load(name, **modules):
    """Imports a module of the package with fakes of frameworks. torch is not initialized."""
    dist = module("torch.distributed", is_available=lambda: True, is_initialized=lambda: False)
    fakes = {
        "torch": module("torch", distributed=dist, Tensor=FakeTensor),
        "torch.distributed": dist,
        **modules,
    }
    patch = mock.patch.dict(sys.modules, fakes)
    patch.start()
    sys.modules.pop("trainingjob." + name, None)
    return importlib.import_module("trainingjob." + name), patch


class CallbacksTest(unittest.TestCase):
    def callback(self, name, job, **modules):
        loaded, patch = load(name, **modules)
        self.addCleanup(patch.stop)
        return loaded.TrainingJobCallback(job)

    def test_huggingface(self):
        job = FakeJob()
        c = self.callback("huggingface", job, transformers=module("transformers", TrainerCallback=object))
        args = Fake(device="cpu", output_dir="/c", num_train_epochs=1)
        state = Fake(global_step=3, max_steps=9, epoch=0.3)
        control = Fake(
            should_log=True, should_save=False, should_evaluate=False, should_training_stop=False
        )
        c.on_train_begin(args, state, control)
        c.on_step_end(args, state, control)
        self.assertEqual([], job.calls)  # the step has no metrics yet
        c.on_log(args, state, control, logs={"loss": 0.5, "epoch": 0.3, "note": "x"})
        control.should_log = False
        c.on_step_end(args, state, control)
        self.assertFalse(control.should_save or control.should_training_stop)
        job.saves = job.should_stop = True
        c.on_step_end(args, state, control)
        self.assertTrue(control.should_save and control.should_training_stop)
        c.on_save(args, state, control)
        self.assertEqual(["3 Saving", "3 Training"], job.beats)
        job.beats, control.should_evaluate = [], True
        c.on_epoch_end(args, state, control)
        c.on_prediction_step(args, state, control)
        c.on_evaluate(args, state, control)
        c.on_save(args, state, control)
        self.assertEqual(["3 Evaluating", "3 Evaluating", "3 Saving", "3 Training"], job.beats)
        job.calls.pop()
        c.on_train_end(args, state, control)
        report = "report 3 of 9 {'loss': 0.5}"
        self.assertEqual([report] * 3 + ["commit /c/checkpoint-3 3 False"], job.calls)
        c.on_train_begin(args, state, control)
        c.on_train_end(args, state, control)
        self.assertEqual("complete", job.calls[-1])

    def test_lightning(self):
        job = FakeJob()
        pytorch = module("lightning.pytorch", Callback=object)
        modules = {"lightning": module("lightning", pytorch=pytorch), "lightning.pytorch": pytorch}
        c = self.callback("lightning", job, **modules)
        trainer = Fake(
            global_step=0,
            ckpt_path="/c/step-0.ckpt",
            estimated_stepping_batches=9,
            current_epoch=0,
            callback_metrics={"loss": 1},
            strategy=Fake(broadcast=lambda decision: decision),
            save_checkpoint=lambda path: job.calls.append("save " + path),
            should_stop=False,
            limit_val_batches=1.0,
            fit_loop=Fake(min_epochs=1, epoch_loop=Fake(min_steps=5)),
        )
        c.on_train_start(trainer, None)
        c.on_train_batch_end(trainer, None, None, None, 0)
        self.assertEqual([], job.calls, "gradients are still accumulated")
        trainer.global_step, job.saves, job.should_stop = 1, True, True
        c.on_train_batch_end(trainer, None, None, None, 1)
        c.on_train_end(trainer, None)
        want = ["report 1 of 9 {'loss': 1}", "save /c/step-1.ckpt", "commit /c/step-1.ckpt 1 False"]
        self.assertEqual(want, job.calls)
        self.assertTrue(trainer.should_stop)
        c.on_validation_start(trainer, None)
        c.on_validation_end(trainer, None)
        c.on_save_checkpoint(trainer, None, {})
        self.assertEqual(["1 Training", "1 Evaluating", "1 Training", "1 Saving"], job.beats)
        self.assertEqual(0, trainer.limit_val_batches)
        self.assertEqual((0, 0), (trainer.fit_loop.min_epochs, trainer.fit_loop.epoch_loop.min_steps))
        self.assertEqual([(None, "/c/step-0.ckpt"), (None, None)], job.words)
        job.rehearsal = True
        for step, batch in ((2, [1, "a"]), (3, [1, "b"]), (4, [1, "a"]), (5, [1, object()])):
            trainer.global_step = step
            c.on_train_batch_end(trainer, None, None, batch, step)
        batches = [batch for batch, _ in job.words[2:]]
        self.assertEqual((16, None), (len(batches[0]), batches[3]))
        self.assertTrue(batches[0] == batches[2] != batches[1])

    def test_lightning_sigterm(self):
        pytorch = module("lightning.pytorch", Callback=object)
        modules = {"lightning": module("lightning", pytorch=pytorch), "lightning.pytorch": pytorch}
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        trainer, received = Fake(global_step=0, ckpt_path=None), []
        for in_job, want in ((False, "Lightning"), (True, "program")):
            job = FakeJob()
            job._gets_signals = in_job
            c = self.callback("lightning", job, **modules)
            signal.signal(signal.SIGTERM, lambda *_: received.append("program"))
            c.setup(trainer, None, "fit")
            signal.signal(signal.SIGTERM, lambda *_: received.append("Lightning"))
            c.on_train_start(trainer, None)
            signal.raise_signal(signal.SIGTERM)
            self.assertEqual(want, received[-1])

    def test_keras(self):
        job = FakeJob()

        class Callback:
            pass

        keras = module(
            "keras",
            callbacks=Fake(Callback=Callback),
            backend=Fake(backend=lambda: "tensorflow"),
            ops=Fake(convert_to_numpy=lambda variable: variable),
        )
        c = self.callback("keras", job, keras=keras)
        c.params = {"epochs": 3, "steps": 4}
        c.model = Fake(
            optimizer=Fake(iterations=4),
            stop_training=False,
            save=lambda path: job.calls.append("save " + path),
        )
        c.on_train_begin()
        c.on_epoch_begin(1)
        c.on_train_batch_end(1, {"loss": 1})  # two steps in one execution
        job.saves = job.should_stop = True
        with mock.patch("os.makedirs"):
            c.on_train_batch_end(2, {"loss": 2})
        c.on_epoch_end(1, {})
        c.on_train_end()
        want = ["report 6 of 12 {'loss': 1}", "report 7 of 12 {'loss': 2}"]
        self.assertEqual(want + ["save /c/step-7.keras", "commit /c/step-7.keras 7 False"], job.calls)
        self.assertTrue(c.model.stop_training)
        c.on_test_begin()
        c.on_test_end()
        self.assertEqual(["7 Saving", "7 Training", "7 Evaluating", "7 Training"], job.beats)

        # Two ranks that write one file damage it.
        job.rank, job.calls = 1, []
        c.on_train_batch_end(3, {"loss": 3})
        saved = [call for call in job.calls if call.startswith("save ")]
        self.assertEqual(1, len(saved))
        self.assertTrue(saved[0].endswith("/step-8.keras") and not saved[0].startswith("save /c/"), saved)
        self.assertFalse([call for call in job.calls if call.startswith("commit ")])


if __name__ == "__main__":
    unittest.main()
