"""A small data-parallel job: every step all-reduces the gradients of a few large layers.

Started by torchrun on one or more nodes; nothing in it knows of rdmaguard.
"""

import os
import time

import torch
import torch.distributed as dist


def main(steps: int = 50, width: int = 4096, layers: int = 4) -> None:
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    # device_id makes the communicator now rather than at the first collective, so that the
    # guard speaks before any work is done.
    dist.init_process_group("nccl", device_id=device)
    rank, world = dist.get_rank(), dist.get_world_size()

    model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers))).to(device)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(32, width, device=device)

    began = time.monotonic()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    if rank == 0:
        seconds = time.monotonic() - began
        print(f"{world} ranks, {steps} steps, {seconds / steps * 1e3:.1f} ms a step, loss {loss.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
