"""DeepSpeed, with ZeRO of the stage in ZERO; all ranks save."""

import os

import deepspeed
import torch
from gang import DIR, RESUME
from torch_loop import error, net, train


def main():
    deepspeed.init_distributed("gloo")
    model = net()
    engine, _, _, _ = deepspeed.initialize(
        model=model, optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        config={"train_micro_batch_size_per_gpu": 16, "zero_allow_untested_optimizer": True,
                "zero_optimization": {"stage": int(os.environ["ZERO"])}})
    step = 0
    if RESUME:
        engine.load_checkpoint(os.path.dirname(RESUME), tag=os.path.basename(RESUME))
        step = engine.global_steps

    def advance(x):
        loss = error(engine(x), x)
        engine.backward(loss)
        engine.step()
        return loss

    def weights():
        with deepspeed.zero.GatheredParameters(list(model.parameters())):
            return [p.detach().numpy().copy() for p in model.parameters()]

    train(step, advance, lambda *_: engine.save_checkpoint(DIR), weights)


if __name__ == "__main__":
    main()
