"""Hugging Face: the Trainer, Accelerate, PEFT, and safetensors by torch.distributed.checkpoint."""

import functools
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import transformers
from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.utils import ProjectConfiguration
from run import STEPS, rank, tree
from torch_saves import model_and_optimizer, sharded, train
from transformers import Trainer, TrainerCallback, TrainingArguments


class Lines(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        ids = torch.arange(i, i + 8) % 32
        return {"input_ids": ids, "labels": ids}


class Saved(TrainerCallback):
    def __init__(self, saved):
        self.saved = saved

    def on_save(self, args, state, control, **kwargs):
        self.saved(state.global_step)


def model():
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=32, n_positions=8)
    return transformers.GPT2LMHeadModel(config)


def trainer(volume, saved, net=None, **args):
    os.environ["DISABLE_KUBEFLOW_INTEGRATION"] = "TRUE"
    return Trainer(
        net or model(),
        TrainingArguments(volume, use_cpu=True, max_steps=STEPS[-1], save_steps=STEPS[0], report_to=[],
                          per_device_train_batch_size=2, disable_tqdm=True, **args),
        train_dataset=Lines(), callbacks=[Saved(saved)],
    )


@tree("transformers")
def trainer_of_one_rank(volume, saved):
    trainer(volume, saved).train()


@tree("transformers", ranks=2)
def trainer_of_two_ranks(volume, saved):
    trainer(volume, saved, ddp_backend="gloo").train()


@tree("transformers")
def trainer_with_weight_shards(volume, saved):
    net = model()
    net.save_pretrained = functools.partial(net.save_pretrained, max_shard_size="2KB")
    trainer(volume, saved, net).train()


@tree("transformers")
def trainer_that_keeps_one(volume, saved):
    trainer(volume, saved, save_total_limit=1).train()


@tree("transformers")
def trainer_of_weights_only(volume, saved):
    trainer(volume, saved, save_only_model=True).train()


@tree("peft")
def trainer_of_an_adapter(volume, saved):
    import peft

    net = peft.get_peft_model(model(), peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    trainer(volume, saved, net).train()


@tree("transformers")
def trainer_at_sigterm(volume, saved):
    from transformers.trainer_jit_checkpoint import CheckpointManager

    t = trainer(volume, lambda step: None, save_strategy="no")
    for step in STEPS:
        t.args.max_steps = step
        t.train()
        CheckpointManager(t).execute_jit_checkpoint()
        saved(step)


def accelerator(volume, custom=False, **args):
    a = Accelerator(cpu=True, **args)
    net, optimizer = model_and_optimizer()
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    data = torch.utils.data.DataLoader(torch.ones(8, 4), shuffle=True)
    net, optimizer, scheduler, data = a.prepare(net, optimizer, scheduler, data)
    if custom:
        a.register_for_checkpointing(Counter())
    train(net, optimizer)
    return a


class Counter:
    def __init__(self):
        self.n = 0

    def state_dict(self):
        return {"n": self.n}

    def load_state_dict(self, state):
        self.n = state["n"]


def save_states(a, volume, saved, form):
    for step in STEPS:
        if rank() == 0:
            os.makedirs(volume, exist_ok=True)
        a.save_state(f"{volume}/{form}{step}")
        a.wait_for_everyone()
        saved(step)


@tree("accelerate")
def accelerate_step(volume, saved):
    save_states(accelerator(volume), volume, saved, "step_")


@tree("accelerate", ranks=2)
def accelerate_checkpoint_of_two_ranks(volume, saved):
    save_states(accelerator(volume), volume, saved, "checkpoint-")


@tree("accelerate")
def accelerate_with_a_registered_object(volume, saved):
    save_states(accelerator(volume, custom=True), volume, saved, "checkpoint-")


@tree("accelerate")
def accelerate_names_automatically(volume, saved):
    project = ProjectConfiguration(project_dir=volume, automatic_checkpoint_naming=True)
    a = accelerator(volume, project_config=project)
    for step in STEPS:
        a.save_state()
        saved(step)


@tree("accelerate")
def accelerate_in_the_way_of_diffusers(volume, saved):
    """A hook writes the weights into folders of their own, as the training scripts of diffusers do."""
    a = accelerator(volume)

    def hook(models, weights, directory):
        from safetensors.torch import save_file

        for _ in models:
            os.makedirs(f"{directory}/unet")
            save_file(weights.pop(), f"{directory}/unet/diffusion_pytorch_model.safetensors")
            with open(f"{directory}/unet/config.json", "w") as f:
                f.write("{}")

    a.register_save_state_pre_hook(hook)
    save_states(a, volume, saved, "checkpoint-")


@tree("torch", ranks=2)
def dcp_as_safetensors(volume, saved):
    state = sharded()
    for step in STEPS:
        writer = dcp.HuggingFaceStorageWriter(f"{volume}/step-{step}", save_distributed=True)
        dcp.save(state["model"], storage_writer=writer)
        dist.barrier()
        saved(step)


@tree("accelerate", ranks=2)
def accelerate_fsdp(volume, saved):
    """Accelerate uses FSDP with accelerators alone, so its state is changed after the model is prepared."""
    from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
    from torch.distributed.fsdp import fully_shard

    a = accelerator(volume)
    net, _ = model_and_optimizer()
    fully_shard(net, mesh=dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.Adam(net.parameters())
    train(net, optimizer)
    a._models, a._optimizers = [net], [optimizer]
    a.state._shared_state["distributed_type"] = DistributedType.FSDP
    a.state.fsdp_plugin = FullyShardedDataParallelPlugin(fsdp_version=2, state_dict_type="SHARDED_STATE_DICT")
    save_states(a, volume, saved, "checkpoint-")
