"""DistributedDataParallel; rank 0 saves one file with torch.save, and a manifest."""

import json
import os

import torch
import torch.distributed as dist
from gang import DIR, RESUME
from torch.nn.parallel import DistributedDataParallel
from torch_loop import advances, net, train


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(net())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    if RESUME:
        state = torch.load(RESUME + "/state.pt", weights_only=True)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]

    def save(step, _):
        if dist.get_rank() != 0:
            return
        where = os.path.join(DIR, "step-%d" % step)
        os.makedirs(where)
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
                   where + "/state.pt")
        # As docs/checkpoints.md: the save is complete when its manifest has its name.
        files = [{"name": "state.pt", "size": os.path.getsize(where + "/state.pt")}]
        with open(where + "/manifest.tmp", "w") as f:
            json.dump({"version": 1, "step": step, "files": files}, f)
        os.rename(where + "/manifest.tmp", where + "/trainingjob-manifest.json")

    train(step, advances(model, optimizer), save, lambda: [p.detach().numpy() for p in model.parameters()])


if __name__ == "__main__":
    main()
