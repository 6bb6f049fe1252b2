"""FSDP2 (fully_shard); all ranks save with torch.distributed.checkpoint, in the background between requests."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from gang import DIR, RESUME
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch_loop import advances, net, train


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = net()
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    saves = dist.new_group(backend="gloo")  # a save in the background must not mix with the training
    writing = []

    def state(step):
        weights, moments = get_state_dict(model, optimizer)
        return {"model": weights, "optimizer": moments, "step": torch.tensor(step)}

    step = 0
    if RESUME:
        loaded = state(0)
        dcp.load(loaded, checkpoint_id=RESUME)
        set_state_dict(model, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"])
        step = int(loaded["step"])

    def save(step, last):
        while writing:
            writing.pop().result()
        where = os.path.join(DIR, "step-%d" % step)
        if last:
            dcp.save(state(step), checkpoint_id=where)
        else:
            writing.append(dcp.async_save(state(step), checkpoint_id=where, process_group=saves))

    train(step, advances(model, optimizer), save,
          lambda: [p.full_tensor().detach().numpy() for p in model.parameters()])


if __name__ == "__main__":
    main()
