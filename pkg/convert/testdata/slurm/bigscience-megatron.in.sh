#!/bin/bash
#SBATCH --job-name=tr8-104B
#SBATCH --constraint=v100-32g
#SBATCH --nodes=128
#SBATCH --ntasks-per-node=1          # crucial
#SBATCH --cpus-per-task=40
#SBATCH --hint=nomultithread
#SBATCH --gres=gpu:4
#SBATCH --time 20:00:00
#SBATCH --output=%x-%j.out
#SBATCH --account=six

set -x -e
echo "START TIME: $(date)"

DATA_OUTPUT_PATH=$SCRATCH/checkpoints/tr8-104B
CHECKPOINT_PATH=$DATA_OUTPUT_PATH/checkpoints
LOGS_PATH=$DATA_OUTPUT_PATH/logs
mkdir -p $LOGS_PATH

cd $WORK/Megatron-DeepSpeed

MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
MASTER_PORT=6000

GPUS_PER_NODE=4
NNODES=128
TP_SIZE=4
MICRO_BATCH_SIZE=1
ZERO_STAGE=1

GPT_ARGS=" \
    --num-layers 64 \
    --micro-batch-size $MICRO_BATCH_SIZE \
    --fp16 \
    "

config_json="./ds_config.$SLURM_JOBID.json"

cat <<EOT > $config_json
{
  "train_micro_batch_size_per_gpu": $MICRO_BATCH_SIZE,
  "zero_optimization": {
    "stage": $ZERO_STAGE
  }
}
EOT

DEEPSPEED_ARGS=" \
    --deepspeed \
    --deepspeed_config ${config_json} \
    "

export LAUNCHER="python -u -m torch.distributed.launch \
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NNODES \
    --master_addr $MASTER_ADDR \
    --master_port $MASTER_PORT \
    "

export CMD=" \
    `pwd`/pretrain_gpt.py \
    --tensor-model-parallel-size $TP_SIZE \
    $GPT_ARGS \
    --save $CHECKPOINT_PATH \
     $DEEPSPEED_ARGS \
    "

echo $CMD

clear; srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee -a $LOGS_PATH/main_log.txt

echo "END TIME: $(date)"
