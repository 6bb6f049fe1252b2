#!/bin/bash
#SBATCH --nodes=4 # nodes
#SBATCH --job-name=FSDP # a name
#SBATCH --output=logs/%x_%j.out
#SBATCH --exclusive
#SBATCH --gpus-per-node=8

set -ex;

GPUS_PER_NODE=8 # 4 or 8
export NCCL_DEBUG=INFO
export FI_PROVIDER=efa
export FI_EFA_USE_HUGE_PAGE=0    # against an error of memory
export LD_PRELOAD=/usr/local/cuda-12.4/lib/libnccl.so
export NCCL_SOCKET_IFNAME=^docker,lo,veth,eth

declare -a TORCHRUN_ARGS=(
    --nproc_per_node=$GPUS_PER_NODE
    --nnodes=$SLURM_JOB_NUM_NODES
    --rdzv_id=$SLURM_JOB_ID
    --rdzv_backend=c10d
    --rdzv_endpoint=$(hostname)
)

export TORCHRUN=torchrun
export TRAIN_SCRIPT=./train.py

declare -a TRAINING_ARGS=(
    --max_context_width=4096
    --num_key_value_heads=32 # 32 or 40
    --tokenizer="hf-internal-testing/llama-tokenizer"
    --checkpoint_dir=./checkpoints
    --dataset='allenai/c4'
    --sharding_strategy="full" # of FSDP
)

AUTO_RESUME=""
if [ -d "/opt/sagemaker_cluster" ]; then
    AUTO_RESUME="--auto-resume=1"
fi
srun ${AUTO_RESUME} -l ${TORCHRUN} "${TORCHRUN_ARGS[@]}" $TRAIN_SCRIPT "${TRAINING_ARGS[@]}"
