"""DeepSpeed: engine.save_checkpoint, and what Hugging Face writes with it."""

import os

import deepspeed
import torch
from run import STEPS, tree
from torch_saves import model_and_optimizer


def without_kernels():
    """The kernels need a compiler. Without them DeepSpeed uses gloo."""
    for kernel in deepspeed.ops.__compatible_ops__:
        deepspeed.ops.__compatible_ops__[kernel] = False


def save(volume, saved, stage, **args):
    without_kernels()
    deepspeed.init_distributed("gloo")
    model, optimizer = model_and_optimizer()
    config = {
        "train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": stage}, **args,
    }
    engine = deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]
    for step in range(1, STEPS[-1] + 1):
        engine.backward(engine(torch.ones(1, 4)).sum())
        engine.step()
        if step in STEPS:
            engine.save_checkpoint(volume, client_state={"step": step})
            saved(step)


@tree("deepspeed", ranks=2)
def zero_stage_0(volume, saved):
    save(volume, saved, 0)


@tree("deepspeed", ranks=2)
def zero_stage_2(volume, saved):
    save(volume, saved, 2)


@tree("deepspeed", ranks=2)
def zero_stage_3(volume, saved):
    save(volume, saved, 3)


@tree("transformers", ranks=2)
def trainer_with_deepspeed(volume, saved):
    from huggingface_saves import trainer

    without_kernels()
    config = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2},
              "zero_allow_untested_optimizer": True}
    trainer(volume, saved, ddp_backend="gloo", deepspeed=config).train()


@tree("accelerate", ranks=2)
def accelerate_with_deepspeed(volume, saved):
    from accelerate import Accelerator, DeepSpeedPlugin
    from huggingface_saves import save_states

    without_kernels()
    config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2},
              "zero_allow_untested_optimizer": True}
    os.environ["ACCELERATE_USE_DEEPSPEED"] = "true"
    deepspeed.init_distributed("gloo")
    a = Accelerator(deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=config))
    model, optimizer = a.prepare(*model_and_optimizer())
    a.backward(model(torch.ones(1, 4)).sum())
    optimizer.step()
    save_states(a, volume, saved, "checkpoint-")
