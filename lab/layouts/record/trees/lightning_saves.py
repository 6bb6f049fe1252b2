"""Lightning: the ModelCheckpoint callback, and strategies that shard."""

import lightning
import torch
from lightning.fabric.strategies.model_parallel import ModelParallelStrategy as FabricStrategy
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from run import STEPS, rank, tree


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.net = torch.nn.Linear(4, 2)

    def training_step(self, batch, _):
        return self.net(batch).sum()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.ones(STEPS[-1], 4))

    def configure_model(self):
        from torch.distributed.fsdp import fully_shard

        if getattr(self, "device_mesh", None) is not None:
            fully_shard(self.net, mesh=self.device_mesh["data_parallel"])


class Saved(Callback):
    """Calls saved when ModelCheckpoint, which comes after all other callbacks, has saved."""

    def __init__(self, saved):
        self.saved = saved

    def on_train_batch_start(self, trainer, *_):
        if trainer.global_step in STEPS:
            self.saved(trainer.global_step)

    def on_train_end(self, trainer, _):
        self.saved(trainer.global_step)


def fit(volume, saved, trainer=None, **args):
    checkpoint = ModelCheckpoint(volume, every_n_train_steps=STEPS[0], save_top_k=-1, **args)
    lightning.Trainer(
        accelerator="cpu", max_steps=STEPS[-1], logger=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[checkpoint, Saved(saved)], **(trainer or {"devices": 1}),
    ).fit(Module())


@tree("lightning")
def lightning_one_file(volume, saved):
    fit(volume, saved)


@tree("lightning")
def lightning_one_file_and_last(volume, saved):
    fit(volume, saved, save_last=True)


@tree("lightning", ranks=2)
def lightning_model_parallel(volume, saved):
    from lightning.pytorch.strategies import ModelParallelStrategy

    fit(volume, saved, {
        "devices": 2,
        "strategy": ModelParallelStrategy(data_parallel_size=2, tensor_parallel_size=1,
                                          process_group_backend="gloo"),
    })
