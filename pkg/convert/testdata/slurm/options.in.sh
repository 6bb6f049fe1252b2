#!/usr/bin/env bash
# What the options of sbatch can say; no public script.
#SBATCH -J Llama_3.1-8B -N 2-4 -p batch -q high -A team.a
#SBATCH --gres=gpu:a100:4,nvme:1 --mem-per-gpu=64G --cpus-per-gpu=8
#SBATCH -w node[01-02,05] -x node[09-10]
#SBATCH --switches=1@10:00 --begin=16:00 --export=NONE --mail-type=END
#SBATCH --signal=B:USR1@120 --requeue -t 1-12 --hold
#SBATCH --chdir=/workspace
##SBATCH --array=1-10
srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 --container-mounts=/data:/data,/home/me:/root \
  torchrun train.py --lr 3e-4 --glob '*.json'
#SBATCH --dependency=afterok:1
