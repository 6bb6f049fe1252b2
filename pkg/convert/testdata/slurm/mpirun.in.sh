#!/bin/bash
#SBATCH --job-name=ucc_perftest
#SBATCH --partition=helios
#SBATCH --nodes=4          # or 8
#SBATCH --ntasks-per-node=1
#SBATCH --time=00:05:00
#SBATCH --output=ucc_perftest_%j.log
#SBATCH --chdir=/workspace

module load hpcx
COLLECTIVE="allreduce"
NODELIST=($(scontrol show hostnames $SLURM_JOB_NODELIST))
NODE_COUNT=${#NODELIST[@]}

mpirun --bind-to core --map-by slot -np $NODE_COUNT opt/bin/ucc_perftest -c $COLLECTIVE
