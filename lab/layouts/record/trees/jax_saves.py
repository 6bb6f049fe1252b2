"""Orbax, and the checkpoints of Flax before it."""

import os

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from run import STEPS, tree


def state(step):
    return {"params": {"w": jnp.ones((8, 4)), "b": jnp.zeros(4)}, "step": jnp.asarray(step)}


def manager(volume, saved, items, **options):
    with ocp.CheckpointManager(volume, options=ocp.CheckpointManagerOptions(**options)) as m:
        for step in STEPS:
            m.save(step, args=items(step))
            m.wait_until_finished()
            saved(step)


@tree("orbax-checkpoint")
def orbax_one_item(volume, saved):
    manager(volume, saved, lambda step: ocp.args.StandardSave(state(step)))


@tree("orbax-checkpoint")
def orbax_items(volume, saved):
    manager(volume, saved, lambda step: ocp.args.Composite(
        state=ocp.args.StandardSave(state(step)), data=ocp.args.JsonSave({"position": step})))


@tree("orbax-checkpoint")
def orbax_with_a_prefix(volume, saved):
    manager(volume, saved, lambda step: ocp.args.StandardSave(state(step)), step_prefix="ckpt",
            step_format_fixed_length=8)


@tree("orbax-checkpoint")
def orbax_that_keeps_one(volume, saved):
    manager(volume, saved, lambda step: ocp.args.StandardSave(state(step)), max_to_keep=1)


@tree("orbax-checkpoint")
def orbax_without_a_manager(volume, saved):
    for step in STEPS:
        with ocp.StandardCheckpointer() as c:
            c.save(f"{volume}/step_{step}", state(step))
        saved(step)


@tree("orbax-checkpoint", ranks=2)
def orbax_of_two_hosts(volume, saved):
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", int(os.environ["WORLD_SIZE"]),
        int(os.environ["RANK"]))
    mesh = jax.make_mesh((jax.device_count(),), ("hosts",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("hosts"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    w = jax.make_array_from_callback((8, 4), spread, lambda i: jnp.ones((8, 4))[i])
    b = jax.make_array_from_callback((4,), whole, lambda i: jnp.ones((4,))[i])
    manager(volume, saved, lambda step: ocp.args.StandardSave({"w": w, "b": b}))


@tree("orbax-checkpoint")
def orbax_v1(volume, saved):
    from orbax.checkpoint import v1

    with v1.training.Checkpointer(volume) as c:
        for step in STEPS:
            c.save_pytree(step, state(step), force=True)
            saved(step)


@tree("flax")
def flax_msgpack(volume, saved):
    from flax import config
    from flax.training import checkpoints

    config.update("flax_use_orbax_checkpointing", False)
    for step in STEPS:
        checkpoints.save_checkpoint(volume, state(step), step, keep=3)
        saved(step)
