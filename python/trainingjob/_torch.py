"""What callbacks share on torch: the decision of rank 0 on all ranks, and the hash of a batch."""

import hashlib
from typing import Any, Optional


def broadcast(save: bool, stop: bool, device: Any) -> tuple[bool, bool]:
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return save, stop
    decision = torch.tensor([int(save), int(stop)], device=device)
    dist.broadcast(decision, src=0)
    saves, stops = decision.tolist()
    return bool(saves), bool(stops)


def batch_of(value: Any) -> Optional[str]:
    """Returns a hash of the samples; None if they are not only tensors, numbers and text."""
    digest = hashlib.sha256()
    try:
        return digest.hexdigest()[:16] if _add(digest, value) else None
    except (RuntimeError, TypeError):  # for example of a sparse tensor
        return None


def _add(digest: Any, value: Any) -> bool:
    import torch

    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(data.numpy().tobytes())
        return True
    if isinstance(value, dict):
        return all(_add(digest, key) and _add(digest, value[key]) for key in value)
    if isinstance(value, (list, tuple)):
        return all(_add(digest, v) for v in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        digest.update(repr(value).encode())
        return True
    return False
