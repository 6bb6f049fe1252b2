#!/bin/bash
#SBATCH --job-name=all_reduce_bench-a100-n4
#SBATCH --partition=gpu_p5
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1          # crucial
#SBATCH --cpus-per-task=40
#SBATCH --hint=nomultithread         # physical cores
#SBATCH --gres=gpu:8
#SBATCH --time 0:05:00               # (HH:MM:SS)
#SBATCH --output=%x-%j.out
#SBATCH --account=six@gpu

export LOG_FILE=all_reduce_bench-a100-4n.txt

export NNODES=$SLURM_NNODES
export GPUS_PER_NODE=8
export NCCL_DEBUG=info

export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)

srun --jobid $SLURM_JOBID bash -c 'python -m torch.distributed.launch --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE --node_rank $SLURM_PROCID --master_addr $MASTER_ADDR --master_port 12345 all_reduce_bench.py'  2>&1 | tee $LOG_FILE
