"""Hugging Face's Trainer.

It saves at SIGTERM and reports by its own callbacks, without a line for the operator. With CALLBACK, the
callback of package trainingjob does both.
"""

import os

import torch
from gang import DIR, INTERVAL, RESUME, STEPS, Gang
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

if os.environ.get("CALLBACK"):
    from trainingjob.huggingface import TrainingJobCallback

    callbacks, saves = [TrainingJobCallback()], {"save_strategy": "no"}
else:
    callbacks, saves = [], {"save_steps": INTERVAL, "enable_jit_checkpoint": True}


class Tokens(torch.utils.data.Dataset):
    """Sequences that a seed makes."""

    def __len__(self):
        return 8192

    def __getitem__(self, i):
        ids = torch.randint(0, 64, (16,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": ids, "labels": ids}


class Log(TrainerCallback):
    """For the test alone: writes down what happens, and pauses."""

    def __init__(self, gang):
        self.gang = gang

    def on_train_begin(self, args, state, control, **_):
        self.gang.log("start", step=state.global_step)

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs:
            self.gang.stepped(state.global_step, logs["loss"])

    def on_save(self, args, state, control, **_):
        self.gang.saved(state.global_step)


def main():
    torch.set_num_threads(1)
    gang = Gang(int(os.environ["RANK"]) == 0, reports=False)
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, attn_implementation="eager"))
    arguments = TrainingArguments(
        output_dir=DIR, max_steps=STEPS, logging_steps=1, per_device_train_batch_size=4, seed=1, use_cpu=True,
        report_to="none", disable_tqdm=True, save_total_limit=3, **saves)
    trainer = Trainer(model=model, args=arguments, train_dataset=Tokens(), callbacks=[Log(gang), *callbacks])
    trainer.train(resume_from_checkpoint=RESUME)
    if trainer.state.global_step == STEPS:
        gang.finished(STEPS, 0, [p.detach().numpy() for p in model.parameters()])


if __name__ == "__main__":
    main()
