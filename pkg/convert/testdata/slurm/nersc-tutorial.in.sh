#!/bin/bash
#SBATCH -C gpu
#SBATCH -q shared
#SBATCH -A ntrain4
#SBATCH --cpus-per-task 32
#SBATCH --gpus-per-task 1
#SBATCH --gpu-bind none
#SBATCH --time=01:00:00
#SBATCH --image=nersc/pytorch:ngc-23.07-v0
#SBATCH --module=gpu,nccl-2.18
#SBATCH --reservation=dl_tutorial_1
#SBATCH -J vit-era5
#SBATCH -o %x-%j.out
#SBATCH -n 1

DATADIR=/pscratch/data
LOGDIR=${SCRATCH}/logs
mkdir -p ${LOGDIR}
args="${@}"

export FI_MR_CACHE_MONITOR=userfaultfd
export HDF5_USE_FILE_LOCKING=FALSE

if [ "${ENABLE_PROFILING:-0}" -eq 1 ]; then
    export PROFILE_CMD="nsys profile -o ${LOGDIR}/${PROFILE_OUTPUT:-"profile"}"
fi

export MASTER_ADDR=$(hostname)
export CUDA_VISIBLE_DEVICES=3,2,1,0

set -x
srun -u shifter -V ${DATADIR}:/data -V ${LOGDIR}:/logs \
    bash -c "
    source export_DDP_vars.sh
    ${PROFILE_CMD} python train.py ${args}
    "
