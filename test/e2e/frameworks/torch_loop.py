"""The training that PyTorch's trainers share: a small model, on inputs that a seed makes."""

import torch
import torch.distributed as dist
from gang import INTERVAL, STEPS, Gang


def net():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))


def inputs(step, rank):
    return torch.randn(16, 32, generator=torch.Generator().manual_seed(step * 1000 + rank))


def error(y, x):
    return ((y - x.sum(1, keepdim=True).sin()) ** 2).mean()


def advances(model, optimizer):
    """Returns what train calls advance."""
    def advance(x):
        loss = error(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return advance


def train(step, advance, save, weights):
    """Trains from a step on. advance trains on inputs and returns the loss, save saves a step, and its
    second argument is whether it is the last save; weights returns arrays of NumPy. All run on all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    gang = Gang(rank == 0)
    gang.log("start", step=step)
    while step < STEPS:
        loss = advance(inputs(step, rank)).detach().clone()
        step += 1
        dist.all_reduce(loss)
        asked = gang.stepped(step, loss / size)
        asked = torch.tensor([asked, asked and gang.stops()], dtype=torch.int32)
        dist.all_reduce(asked, dist.ReduceOp.MAX)
        asked, stop = asked.tolist()
        if asked or step % INTERVAL == 0:
            save(step, bool(asked) or step == STEPS)
            gang.saved(step)
        if asked:
            gang.acknowledge(step, loss / size)
        if stop:
            break
    else:
        gang.finished(step, loss, weights())
    dist.barrier()
    dist.destroy_process_group()
