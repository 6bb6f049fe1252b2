#!/bin/bash
#SBATCH -N 2 # nodes
#SBATCH --job-name=nccl-tests
#SBATCH --ntasks-per-node 8 # tasks of each
#SBATCH --gres=gpu:8
#SBATCH --exclusive
#SBATCH --wait-all-nodes=1
#SBATCH --ntasks-per-core=1

: "${APPS_PATH:=/apps}"
: "${NCCL_TESTS_PATH:=/opt/nccl-tests/build}"
: "${IMAGE:=$APPS_PATH/nccl.sqsh}"

export FI_PROVIDER=efa # or eth
export NCCL_DEBUG=INFO

declare -a ARGS=(
    --container-image $IMAGE
)

srun -l "${ARGS[@]}" --mpi=pmix $NCCL_TESTS_PATH/scatter_perf -b 8 -e 2G -f 2 -g 1 -c 1 -n 100
