#!/bin/bash
#SBATCH --job-name=ddp-torch     # a short name
#SBATCH --nodes=2                # nodes
#SBATCH --ntasks-per-node=2      # tasks of each
#SBATCH --cpus-per-task=8        # (>1 for threads)
#SBATCH --mem=32G                # of a node
#SBATCH --gres=gpu:2             # of a node
#SBATCH --time=00:05:00          # (HH:MM:SS)

export MASTER_PORT=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))
export WORLD_SIZE=$(($SLURM_NNODES * $SLURM_NTASKS_PER_NODE))
echo "WORLD_SIZE="$WORLD_SIZE

master_addr=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR=$master_addr
echo "MASTER_ADDR="$MASTER_ADDR

module purge
module load anaconda3/2021.11
conda activate torch-env

srun python mnist.py --epochs=2
