"""TensorFlow and Keras."""

import os

import keras
import tensorflow as tf
from run import STEPS, tree


def model():
    keras.utils.set_random_seed(1)
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(2)])
    net.compile("adam", "mse")
    return net


@tree("tensorflow-cpu")
def tensorflow_manager(volume, saved):
    checkpoint = tf.train.Checkpoint(w=tf.Variable(tf.ones((8, 4))), step=tf.Variable(0))
    manager = tf.train.CheckpointManager(checkpoint, volume, max_to_keep=3)
    for step in STEPS:
        manager.save(checkpoint_number=step)
        saved(step)


@tree("tensorflow-cpu")
def tensorflow_manager_that_keeps_one(volume, saved):
    checkpoint = tf.train.Checkpoint(w=tf.Variable(tf.ones((8, 4))))
    manager = tf.train.CheckpointManager(checkpoint, volume, max_to_keep=1, checkpoint_name="model.ckpt")
    for step in STEPS:
        manager.save(checkpoint_number=step)
        saved(step)


@tree("tensorflow-cpu")
def tensorflow_in_a_directory_of_the_step(volume, saved):
    for step in STEPS:
        tf.train.Checkpoint(w=tf.Variable(tf.ones((8, 4)))).write(f"{volume}/step-{step}/state")
        saved(step)


@tree("tensorflow-cpu")
def tensorflow_saved_model(volume, saved):
    module = tf.Module()
    module.w = tf.Variable(tf.ones((8, 4)))
    for step in STEPS:
        tf.saved_model.save(module, f"{volume}/{step}")
        saved(step)


@tree("keras")
def keras_model(volume, saved):
    net = model()
    for step in STEPS:
        os.makedirs(volume, exist_ok=True)
        net.save(f"{volume}/step-{step}.keras")
        saved(step)


@tree("keras")
def keras_weights(volume, saved):
    net = model()
    for step in STEPS:
        net.save_weights(f"{volume}/step-{step}.weights.h5")
        saved(step)


@tree("keras")
def keras_weight_shards(volume, saved):
    layers = [keras.layers.Dense(64, kernel_initializer="ones") for _ in range(4)]
    net = keras.Sequential([keras.Input((64,)), *layers])
    for step in STEPS:
        net.save_weights(f"{volume}/step-{step}.weights.json", max_shard_size=0.00004)
        saved(step)


@tree("keras")
def keras_backup(volume, saved):
    """As keras.callbacks.BackupAndRestore: one save that is replaced."""
    net = model()

    class Saved(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch + 1 in STEPS:
                saved(batch + 1)

    backup = keras.callbacks.BackupAndRestore(volume, save_freq=STEPS[0], delete_checkpoint=False)
    net.fit(tf.ones((STEPS[-1], 4)), tf.ones((STEPS[-1], 2)), batch_size=1, verbose=0,
            callbacks=[backup, Saved()])
