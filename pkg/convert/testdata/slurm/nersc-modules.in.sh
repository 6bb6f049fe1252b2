#!/bin/bash -l
#SBATCH --time=00:10:00
#SBATCH -C gpu
#SBATCH --account=nstaff
#SBATCH -q debug
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH -J dl-test
#SBATCH -o module_job_log_%j.out

config_file=./configs/default.yaml

# load libs
module load pytorch/2.0.1

export MASTER_ADDR=$(hostname)
cmd="python train.py --yaml_config=$config_file"

set -x
srun -l \
    bash -c "
    source export_DDP_vars.sh
    $cmd
    "
