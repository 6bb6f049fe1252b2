"""The decision of rank 0, on all ranks of torch."""

from typing import Any


def broadcast(save: bool, stop: bool, device: Any) -> tuple[bool, bool]:
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return save, stop
    decision = torch.tensor([int(save), int(stop)], device=device)
    dist.broadcast(decision, src=0)
    saves, stops = decision.tolist()
    return bool(saves), bool(stops)
