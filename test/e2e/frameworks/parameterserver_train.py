"""TensorFlow: ParameterServerStrategy. The chief coordinates, and tf.train.CheckpointManager saves.

Keras 3 does not support the strategy, so the model is one of tf.Variable.
"""

import os
import signal
import threading
import time

import tensorflow as tf
from gang import ATTEMPT, DIR, INTERVAL, RESUME, STEPS, Gang


ENDED = "/checkpoints/chief-ended-%d" % ATTEMPT


def serve(resolver):
    """Serves until SIGTERM, and then until the chief, which needs the servers to save, has ended."""
    terminated = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    # The server is a thread of its own: Python handles signals in this one.
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc")
    print("serving at", server.target, flush=True)
    while not terminated.wait(1):
        pass
    limit = time.monotonic() + 20
    while not os.path.exists(ENDED) and time.monotonic() < limit:
        time.sleep(0.2)
    os._exit(0)


def main():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type != "chief":
        serve(resolver)
    gang = Gang(True)
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        def variable(*shape):
            return tf.Variable(tf.random.stateless_normal(shape, (1, len(shape) * 100 + shape[0])) * 0.1)

        weights = [variable(32, 64), variable(64), variable(64, 1), variable(1)]
        momentum = [tf.Variable(tf.zeros_like(w)) for w in weights]
    step = tf.Variable(0, dtype=tf.int64, trainable=False)
    checkpoint = tf.train.Checkpoint(weights=weights, momentum=momentum, step=step)
    manager = tf.train.CheckpointManager(checkpoint, DIR, max_to_keep=3, checkpoint_name="ckpt")
    if RESUME:
        checkpoint.restore(RESUME).assert_existing_objects_matched()

    @tf.function
    def train(at):
        x = tf.random.stateless_normal((16, 32), tf.stack([at, 0]))
        with tf.GradientTape() as tape:
            y = tf.tanh(x @ weights[0] + weights[1]) @ weights[2] + weights[3]
            loss = tf.reduce_mean((y - tf.sin(tf.reduce_sum(x, 1, keepdims=True))) ** 2)
        for w, m, g in zip(weights, momentum, tape.gradient(loss, weights)):
            m.assign(0.9 * m + g)
            w.assign_sub(1e-2 * m)
        return loss

    gang.log("start", step=int(step))
    while int(step) < STEPS:
        loss = coordinator.schedule(train, args=(int(step),)).fetch()
        step.assign_add(1)
        stop = gang.stepped(int(step), loss)
        if stop or int(step) % INTERVAL == 0:
            manager.save(checkpoint_number=int(step))
            gang.saved(int(step))
        if stop:
            gang.acknowledge(int(step), loss)
            break
    else:
        gang.finished(int(step), loss, [w.numpy() for w in weights])
    with open(ENDED, "w"):
        pass


if __name__ == "__main__":
    main()
