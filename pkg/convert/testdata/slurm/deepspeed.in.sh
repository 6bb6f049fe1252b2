#!/bin/bash
#SBATCH --job-name=deepspeed
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1

export OMP_NUM_THREADS=8
srun deepspeed --num_nodes 2 --num_gpus 8 --master_port 29501 --hostfile=hosts train.py --deepspeed ds_config.json
