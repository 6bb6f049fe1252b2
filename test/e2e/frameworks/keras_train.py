"""Keras's fit on JAX, with the callback of package trainingjob.

Its fit fails under TensorFlow's MultiWorkerMirroredStrategy (Keras 3.15.1, in _maybe_symbolic_build).
"""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax  # noqa: E402

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]), cluster_detection_method="deactivate")

import keras  # noqa: E402
import numpy  # noqa: E402
from gang import RESUME, STEPS, Gang  # noqa: E402
from trainingjob import job  # noqa: E402
from trainingjob.keras import TrainingJobCallback  # noqa: E402


class Log(keras.callbacks.Callback):
    """For the test alone: writes down what happens, and pauses."""

    def __init__(self, gang):
        super().__init__()
        self.gang = gang

    def on_train_begin(self, logs=None):
        self.step = int(self.model.optimizer.iterations)
        self.gang.log("start", step=self.step)

    def on_train_batch_end(self, batch, logs=None):
        self.step, self.loss = self.step + 1, logs["loss"]
        self.gang.stepped(self.step, self.loss)


def batches(begin, rank):
    """The inputs of this rank, which a seed makes."""
    for step in range(begin, STEPS):
        x = numpy.random.default_rng((step, rank)).normal(size=(16, 32)).astype("float32")
        yield x, numpy.sin(x.sum(1, keepdims=True))


def main():
    rank = jax.process_index()
    keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
    keras.utils.set_random_seed(1)
    if RESUME:
        model = keras.models.load_model(RESUME)
    else:
        model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, "tanh"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-3), "mean_squared_error")
    begin = int(model.optimizer.iterations)
    gang = Gang(rank == 0, reports=False)
    commit = job.commit

    def committed(path, step, **how):
        commit(path, step, **how)
        gang.saved(step)

    job.commit = committed
    log = Log(gang)
    # Keras resumes at the begin of an epoch: with epochs of one step no step is trained twice.
    model.fit(batches(begin, rank), epochs=STEPS, initial_epoch=begin, steps_per_epoch=1, verbose=0,
              callbacks=[log, TrainingJobCallback()])
    if log.step == STEPS:
        gang.finished(STEPS, log.loss, [keras.ops.convert_to_numpy(v) for v in model.trainable_variables])
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
