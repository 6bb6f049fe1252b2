"""PyTorch: torch.save, and torch.distributed.checkpoint."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from run import STEPS, rank, text, tree
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard


def model_and_optimizer():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    return model, torch.optim.Adam(model.parameters())


def train(model, optimizer):
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()


@tree("torch")
def one_file(volume, saved):
    model, optimizer = model_and_optimizer()
    for step in STEPS:
        train(model, optimizer)
        torch.save({"model": model.state_dict(), "step": step}, f"{volume}/step-{step}.pt")
        saved(step)


@tree("torch")
def one_file_before_1_6(volume, saved):
    model, _ = model_and_optimizer()
    for step in STEPS:
        torch.save(model.state_dict(), f"{volume}/step-{step}.pth", _use_new_zipfile_serialization=False)
        saved(step)


@tree("torch")
def files_in_a_directory(volume, saved):
    model, optimizer = model_and_optimizer()
    for step in STEPS:
        train(model, optimizer)
        os.makedirs(f"{volume}/step-{step}")
        torch.save(model.state_dict(), f"{volume}/step-{step}/model.pt")
        torch.save(optimizer.state_dict(), f"{volume}/step-{step}/optimizer.pt")
        saved(step)


def sharded():
    """The state of a model that FSDP2 shards over all ranks."""
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    model, optimizer = model_and_optimizer()
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer)
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


@tree("torch", ranks=2)
def dcp_of_two_ranks(volume, saved):
    state = sharded()
    for step in STEPS:
        dcp.save({**state, "step": torch.tensor(step)}, checkpoint_id=f"{volume}/step-{step}")
        saved(step)


@tree("torch", ranks=2)
def dcp_in_the_background(volume, saved):
    state = sharded()
    for step in STEPS:
        dcp.async_save(state, checkpoint_id=f"{volume}/step-{step}").result()
        saved(step)


@tree("torch", ranks=2)
def dcp_in_several_parts(volume, saved):
    state = sharded()
    for step in STEPS:
        for part in ("model", "optimizer"):
            dcp.save(state[part], checkpoint_id=f"{volume}/step-{step}/{part}")
        if rank() == 0:
            torch.save({"step": step}, f"{volume}/step-{step}/trainer.pt")
        dist.barrier()
        saved(step)


@tree("torch", ranks=2, by_hand="verl/utils/checkpoint/fsdp_checkpoint_manager.py and "
      "verl/trainer/ppo/ray_trainer.py of volcengine/verl")
def verl_fsdp(volume, saved):
    state = sharded()
    for step in STEPS:
        at = f"{volume}/global_step_{step}"
        os.makedirs(f"{at}/actor", exist_ok=True)
        of = f"world_size_{dist.get_world_size()}_rank_{rank()}.pt"
        torch.save(state["model"], f"{at}/actor/model_{of}")
        torch.save(state["optimizer"], f"{at}/actor/optim_{of}")
        torch.save({"rng": torch.get_rng_state()}, f"{at}/actor/extra_state_{of}")
        if rank() == 0:
            os.makedirs(f"{at}/actor/huggingface")
            text(f"{at}/actor/huggingface/config.json", "{}")
            text(f"{at}/actor/fsdp_config.json", "{}")
        dist.barrier()
        if rank() == 0:
            torch.save({"position": step}, f"{at}/data.pt")
            text(f"{volume}/latest_checkpointed_iteration.txt", str(step))
        dist.barrier()
        saved(step)


@tree("torch", ranks=2, by_hand="slime/backends/fsdp_utils/checkpoint.py of THUDM/slime")
def slime_fsdp(volume, saved):
    state = sharded()
    for step in STEPS:
        at = f"{volume}/iter_{step:07d}"
        os.makedirs(at, exist_ok=True)
        dist.barrier()
        dcp.save({"app": state}, checkpoint_id=at)
        if rank() == 0:
            torch.save({"torch": torch.get_rng_state()}, f"{at}/rng.pt")
            text(f"{at}/meta.json.tmp", "{}")
            os.replace(f"{at}/meta.json.tmp", f"{at}/meta.json")
            text(f"{volume}/latest_checkpointed_iteration.txt", str(step))
        dist.barrier()
        saved(step)
