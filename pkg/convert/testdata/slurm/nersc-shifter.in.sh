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
#SBATCH --image=nersc/pytorch:ngc-23.07-v0
#SBATCH --module=gpu,nccl-2.18
#SBATCH -o shifter_job_log_%j.out

config_file=./configs/default.yaml
config="default"
run_num="ddp-shifter"
env=/global/homes/u/user/.local/perlmutter/pytorch

export MASTER_ADDR=$(hostname)

cmd="python train.py --yaml_config=$config_file --config=$config --run_num=$run_num"

set -x
srun -l shifter --env PYTHONUSERBASE=${env} \
    bash -c "
    source export_DDP_vars.sh
    $cmd
    "
