"""TensorFlow: MultiWorkerMirroredStrategy in a loop of its own; tf.train.CheckpointManager saves."""

import os

import tensorflow as tf
from gang import DIR, INTERVAL, RESUME, STEPS, Gang


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = strategy.cluster_resolver.task_id
    gang = Gang(rank == 0)
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.Input((32,)), tf.keras.layers.Dense(64, "tanh"), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam(1e-3)
        optimizer.build(model.trainable_variables)
    step = tf.Variable(0, dtype=tf.int64, trainable=False)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    # All workers must save, because all take part in reading the variables. The files of one count.
    where = DIR if rank == 0 else "/tmp/not-the-first"
    manager = tf.train.CheckpointManager(checkpoint, where, max_to_keep=3, checkpoint_name="ckpt")
    if RESUME:
        checkpoint.restore(RESUME).assert_existing_objects_matched()

    @tf.function
    def train(x):
        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - tf.sin(tf.reduce_sum(x, 1, keepdims=True))) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        return strategy.reduce("MEAN", strategy.run(replica, args=(x,)), axis=None)

    @tf.function
    def of_any(asked):
        return strategy.reduce("SUM", strategy.run(tf.identity, args=(asked,)), axis=None)

    gang.log("start", step=int(step))
    while int(step) < STEPS:
        loss = train(tf.random.stateless_normal((16, 32), (int(step), rank)))
        step.assign_add(1)
        stop = float(of_any(tf.constant(float(gang.stepped(int(step), loss))))) > 0
        if stop or int(step) % INTERVAL == 0:
            manager.save(checkpoint_number=int(step))
            gang.saved(int(step))
        if stop:
            gang.acknowledge(int(step), loss)
            break
    else:
        gang.finished(int(step), loss, [v.numpy() for v in model.trainable_variables])


if __name__ == "__main__":
    main()
