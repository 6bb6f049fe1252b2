"""Lightning, with the callback of package trainingjob."""

import os

import lightning
import torch
from gang import RESUME, STEPS, Gang
from torch_loop import error, inputs, net
from trainingjob.lightning import TrainingJobCallback


class Batches:
    """Lightning saves the position of a loader with a state, and reads ahead of one without a length."""

    def __init__(self, rank):
        self.rank, self.at = rank, 0

    def __len__(self):
        return STEPS

    def __iter__(self):
        while self.at < STEPS:
            self.at += 1
            yield inputs(self.at, self.rank)

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = net()

    def training_step(self, x, _):
        return error(self.net(x), x)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Log(lightning.Callback):
    """For the test alone: writes down what happens, and pauses."""

    def __init__(self, gang):
        self.gang = gang

    def on_train_start(self, trainer, module):
        self.gang.log("start", step=trainer.global_step)

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.loss = trainer.strategy.reduce(outputs["loss"].detach(), reduce_op="mean")
        self.gang.stepped(trainer.global_step, self.loss)

    def on_save_checkpoint(self, trainer, module, checkpoint):
        self.gang.saved(trainer.global_step)


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gang = Gang(rank == 0, reports=False)
    log, model = Log(gang), Regression()
    trainer = lightning.Trainer(
        accelerator="cpu", strategy="ddp", devices=1, num_nodes=size, max_steps=STEPS, logger=False,
        enable_progress_bar=False, enable_checkpointing=False, callbacks=[log, TrainingJobCallback()])
    trainer.fit(model, Batches(rank), ckpt_path=RESUME)
    if trainer.global_step == STEPS:
        gang.finished(STEPS, log.loss, [p.detach().numpy() for p in model.parameters()])


if __name__ == "__main__":
    main()
