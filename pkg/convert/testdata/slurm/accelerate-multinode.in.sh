#!/bin/bash

#SBATCH --job-name=multinode
#SBATCH -D .
#SBATCH --output=O-%x.%j
#SBATCH --error=E-%x.%j
#SBATCH --nodes=4                   # nodes
#SBATCH --ntasks-per-node=1         # tasks of each
#SBATCH --gres=gpu:4                # GPUs of each
#SBATCH --cpus-per-task=160
#SBATCH --time=01:59:00

source activate_environment.sh
export GPUS_PER_NODE=4

head_node_ip=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)

export LAUNCHER="accelerate launch \
    --num_processes $((SLURM_NNODES * GPUS_PER_NODE)) \
    --num_machines $SLURM_NNODES \
    --rdzv_backend c10d \
    --main_process_ip $head_node_ip \
    --main_process_port 29500 \
    "
export SCRIPT="/accelerate/train.py"
export SCRIPT_ARGS=" \
    --mixed_precision fp16 \
    --output_dir /accelerate/output \
    "

export CMD="$LAUNCHER $SCRIPT $SCRIPT_ARGS"
srun $CMD
