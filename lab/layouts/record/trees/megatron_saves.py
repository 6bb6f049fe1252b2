"""Megatron-LM: megatron.training.checkpointing.save_checkpoint in each format, for a tiny model on the CPU; and
what others build on it."""

import argparse
import os
import shutil

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from megatron.core import dist_checkpointing, mpu
from megatron.core.dist_checkpointing.mapping import ShardedTensor
from megatron.core.rerun_state_machine import initialize_rerun_state_machine
from megatron.training import checkpointing, global_vars
from run import STEPS, rank, text, tree
from torch_saves import sharded

MEGATRON = "megatron-core"


class Net(torch.nn.Linear):
    """A layer whose rows are split over the tensor ranks."""

    def state_dict_for_save_checkpoint(self):
        return self.state_dict()

    def sharded_state_dict(self, **_):
        split = (0, mpu.get_tensor_model_parallel_rank(), mpu.get_tensor_model_parallel_world_size())
        replica = mpu.get_data_parallel_rank()
        return {k: ShardedTensor.from_rank_offsets(k, v, split, replica_id=replica)
                for k, v in self.state_dict().items()}


def start(tensor=1, pipeline=1):
    # There is no GPU here.
    torch.cuda.get_rng_state = torch.get_rng_state
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_device = lambda: torch.device("cpu")
    dist.init_process_group("gloo")
    mpu.initialize_model_parallel(tensor, pipeline)
    initialize_rerun_state_machine()
    torch.manual_seed(1)


def save(volume, saved, form, tensor=1, pipeline=1, **more):
    start(tensor, pipeline)
    args = argparse.Namespace(
        save=volume, ckpt_format=form, use_dist_ckpt=form != "torch", async_save=False,
        tensor_model_parallel_size=tensor, pipeline_model_parallel_size=pipeline, expert_model_parallel_size=1,
        data_parallel_random_init=False, use_distributed_optimizer=False, no_save_optim=False, no_save_rng=False,
        dist_ckpt_optim_fully_reshardable=False, ckpt_assume_constant_structure=False,
        ckpt_fully_parallel_save=False, async_strategy="mcore", log_progress=False,
        swiglu=False, num_experts=None, rank=rank(), save_interval=STEPS[0], **{"verify_integrity": False, **more},
    )
    global_vars.set_args(args)
    net = Net(4, 8)
    for step in STEPS:
        checkpointing.save_checkpoint(step, [net], None, None, 0)
        dist.barrier()
        saved(step)


@tree(MEGATRON, ranks=2)
def megatron_torch(volume, saved):
    save(volume, saved, "torch", tensor=2)


@tree(MEGATRON, ranks=2)
def megatron_torch_pipeline(volume, saved):
    save(volume, saved, "torch", pipeline=2)


@tree(MEGATRON, ranks=2)
def megatron_torch_dist(volume, saved):
    save(volume, saved, "torch_dist", tensor=2)


@tree(MEGATRON, ranks=2)
def megatron_torch_dist_with_sums(volume, saved):
    save(volume, saved, "torch_dist", tensor=2, verify_integrity=True)


@tree(MEGATRON, ranks=2)
def megatron_fsdp_dtensor(volume, saved):
    save(volume, saved, "fsdp_dtensor")


@tree(MEGATRON, ranks=2)
def megatron_torch_dcp(volume, saved):
    save(volume, saved, "torch_dcp")


@tree(MEGATRON, ranks=2, by_hand="verl/utils/checkpoint/megatron_checkpoint_manager.py and "
      "verl/trainer/ppo/ray_trainer.py of volcengine/verl; dist_ckpt is written by Megatron's own code")
def verl_megatron(volume, saved):
    start(tensor=2)
    net = Net(4, 8)
    for step in STEPS:
        at = f"{volume}/global_step_{step}/actor"
        if rank() == 0:
            os.makedirs(f"{at}/dist_ckpt")
            os.makedirs(f"{at}/huggingface")
        dist.barrier()
        dist_checkpointing.save({"model": net.sharded_state_dict()}, f"{at}/dist_ckpt")
        if rank() == 0:
            text(f"{at}/huggingface/config.json", "{}")
            text(f"{at}/transformer_config.json", "{}")
            torch.save({"position": step}, f"{volume}/global_step_{step}/data.pt")
            text(f"{volume}/latest_checkpointed_iteration.txt", str(step))
        dist.barrier()
        saved(step)


@tree(MEGATRON, ranks=2, by_hand="src/megatron/bridge/training/checkpointing.py of NVIDIA-NeMo/Megatron-Bridge")
def megatron_bridge_fsdp_dtensor(volume, saved):
    state = sharded()
    for step in STEPS:
        at = f"{volume}/iter_{step:07d}"
        dcp.save(state, storage_writer=dcp.FileSystemWriter(at))
        if rank() == 0:
            torch.save({"step": torch.tensor(step)}, f"{at}/train_state.pt")
            shutil.copy(f"{at}/train_state.pt", f"{volume}/latest_train_state.pt")
            text(f"{volume}/latest_checkpointed_iteration.txt", str(step))
            text(f"{at}/run_config.yaml", "checkpoint:\n  ckpt_format: fsdp_dtensor\n")
        dist.barrier()
        saved(step)


@tree(MEGATRON, ranks=2, by_hand="nemo/lightning/pytorch/callbacks/model_checkpoint.py of NVIDIA/NeMo; "
      "weights is written by Megatron's own code")
def nemo(volume, saved):
    start(tensor=2)
    net = Net(4, 8)
    for step in STEPS:
        parent = f"{volume}/default/2026-11-21_08-00-00/checkpoints"
        at = f"{parent}/gpt--val_loss=0.50-step={step}-consumed_samples={step * 8}.0"
        if rank() == 0:
            os.makedirs(f"{at}/weights")
            text(f"{at}-unfinished", "")
        dist.barrier()
        dist_checkpointing.save({"model": net.sharded_state_dict()}, f"{at}/weights")
        if rank() == 0:
            os.makedirs(f"{at}/context")
            text(f"{at}/context/io.json", "{}")
            text(f"{at}/context/model.yaml", "a: 1\n")
            os.unlink(f"{at}-unfinished")
        dist.barrier()
        saved(step)
