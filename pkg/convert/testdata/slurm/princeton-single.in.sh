#!/bin/bash
#SBATCH --job-name=mnist
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=8G
#SBATCH --gres=gpu:1
#SBATCH --time=00:05:00
#SBATCH --reservation=multigpu   # for the course

module purge
module load anaconda3/2021.11
conda activate /scratch/envs/torch-env

python mnist.py --epochs=3
