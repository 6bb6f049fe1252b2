"""JAX with Flax and Optax; Orbax saves."""

import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from gang import DIR, INTERVAL, RESUME, STEPS, Gang
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(64)(x)))


def main():
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # Without the last argument JAX looks for a cluster that it knows, and asks Kubernetes for its Jobs.
    jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                               process_id=int(os.environ["JAX_PROCESS_ID"]), cluster_detection_method="deactivate")
    rank = jax.process_index()
    gang = Gang(rank == 0)
    mesh = Mesh(jax.devices(), ("data",))
    everywhere, by_rank = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    net, optimizer = Net(), optax.adam(1e-3)

    @jax.jit
    def first():
        weights = net.init(jax.random.key(1), jnp.zeros((1, 32)))
        return {"weights": weights, "moments": optimizer.init(weights)}

    @jax.jit
    def train(state, x):
        def mean_square(weights):
            return jnp.mean((net.apply(weights, x) - jnp.sin(jnp.sum(x, 1, keepdims=True))) ** 2)

        loss, gradients = jax.value_and_grad(mean_square)(state["weights"])
        updates, moments = optimizer.update(gradients, state["moments"])
        return {"weights": optax.apply_updates(state["weights"], updates), "moments": moments}, loss

    with jax.set_mesh(mesh):
        state = jax.device_put(first(), everywhere)
    manager = ocp.CheckpointManager(DIR, options=ocp.CheckpointManagerOptions(max_to_keep=3, enable_async_checkpointing=True))
    step = 0
    if RESUME:
        step = int(os.path.basename(RESUME))
        with ocp.CheckpointManager(os.path.dirname(RESUME)) as earlier:  # of another attempt
            state = earlier.restore(step, args=ocp.args.StandardRestore(state))
    gang.log("start", step=step)
    while step < STEPS:
        mine = jax.random.normal(jax.random.key(step * 1000 + rank), (16, 32))
        state, loss = train(state, jax.make_array_from_process_local_data(by_rank, jax.device_get(mine)))
        step += 1
        asked = gang.stepped(step, loss)
        stop = bool(multihost_utils.process_allgather(jnp.array(asked)).any())
        if stop or step % INTERVAL == 0:
            manager.save(step, args=ocp.args.StandardSave(state))
            gang.saved(step)
        if stop:
            manager.wait_until_finished()
            gang.acknowledge(step, loss)
            break
    else:
        manager.wait_until_finished()
        gang.finished(step, loss, jax.tree.leaves(jax.device_get(state)))
    manager.close()
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
