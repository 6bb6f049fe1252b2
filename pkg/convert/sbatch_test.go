package convert_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// script is a file for sbatch with some lines.
func script(lines ...string) string { return "#!/bin/bash\n" + strings.Join(lines, "\n") + "\n" }

var ofScripts = convert.Options{Image: "registry.example.com/train:1"}

// TestSlurmErrors: what would not run, or would run otherwise, names the line and the remedy.
func TestSlurmErrors(t *testing.T) {
	const name = "#SBATCH --job-name=a"
	cases := map[string]struct{ file, want string }{
		"array": {
			script(name, "#SBATCH -a 1-10%2", "srun python train.py $SLURM_ARRAY_TASK_ID"),
			"line 3 --array: an array of tasks has no counterpart: remove it and convert once for each task",
		},
		"repeated tasks": {
			script(name, "#SBATCH --array=1-10%1", "srun python train.py"),
			"line 3 --array: the script does not read SLURM_ARRAY_TASK_ID, so its tasks repeat one another: remove it",
		},
		"dependency": {
			script("#SBATCH --depend=afterok:12", "srun a"),
			"line 2 --dependency: TrainingJobs do not wait for one another: remove it, and use a workflow",
		},
		"het job": {
			script("#SBATCH -N 1", "#SBATCH hetjob", "#SBATCH -N 2", "srun a"),
			"line 3 #SBATCH hetjob: a heterogeneous job has no counterpart",
		},
		"het group": {script(name, "srun --het-group=0,1 a"), "line 3 --het-group: a heterogeneous job"},
		"an input": {
			script(name, "srun python <<EOF", "print(1)", "EOF"),
			"line 3 srun: reads its input from the script: put that into a file of the image",
		},
		"several programs": {script(name, "srun --multi-prog roles.conf"),
			"line 3 --multi-prog: different programs"},
		"two steps": {
			script(name, "srun python prepare.py", "srun python train.py"),
			"line 4 srun: is a second step, and one job trains: keep one of them, and convert the others as jobs of " +
				"their own (the first is in line 3)",
		},
		"a step in a loop": {
			script(name, "for lr in 1 2; do", "srun python train.py --lr $lr", "done"),
			"line 4 srun: is inside a loop, a function or a condition: write one command at the top",
		},
		"a step in a substitution": {
			script("#SBATCH -N 2", "x=$(srun cat /etc/issue)", "srun python a.py"),
			"line 3 srun: is inside another command",
		},
		"no step": {
			script("#SBATCH -N 2", "torchrun train.py"),
			"without srun the script runs on the first of its 2 nodes alone: write srun before the command",
		},
		"a command behind the step": {
			script("#SBATCH -N 2", "srun torchrun train.py", "python evaluate.py"),
			"line 4: runs once, when all tasks have ended: put it into another job",
		},
		"a command in the same line": {
			script("#SBATCH -N 2", "srun torchrun train.py && python evaluate.py"),
			`line 3 srun: "python evaluate.py" runs once`,
		},
		"requeue": {
			script(name, "trap 'true' USR1", "scontrol requeue $SLURM_JOB_ID", "srun python a.py"),
			"line 4 scontrol: is a program of Slurm: remove it; the operator restarts and requeues the job",
		},
		"requeue in a trap": {
			script(name, "trap 'scontrol requeue $SLURM_JOB_ID' USR1", "srun python a.py"),
			"line 3 scontrol: is a program of Slurm: remove it; the operator restarts and requeues the job",
		},
		"nearly an option": {
			script("#SBATCH --node=4", "srun python a.py"),
			"line 2 --node=4: is no option of Slurm: write --nodefile or --nodelist or --nodes, or remove it",
		},
		"longer than an option": {
			script("#SBATCH --memory=4G", "srun python a.py"),
			"line 2 --memory=4G: is no option of Slurm: write --mem, or remove it",
		},
		"sbatch": {script(name, "srun python a.py", "sbatch next.sh"), "line 4 sbatch: is a program of Slurm"},
		"squeue in a function": {
			script(name, "f() { squeue --me; }", "srun python a.py"), "line 3 squeue: is a program of Slurm",
		},
		"module in a condition": {
			script(name, "if true; then module load a; fi", "srun python a.py"),
			"line 3 module: loads software of the cluster: remove it, and let the image have it",
		},
		"tasks of a program": {
			script("#SBATCH -N 2 --ntasks-per-node=4", "srun ./train"),
			"line 3 srun: starts 4 tasks on each node, and a rank starts one program: start it by torchrun, which " +
				"numbers its processes by RANK and LOCAL_RANK",
		},
		"rank of a task": {
			script("#SBATCH -N 2 --ntasks-per-node=4", "srun bash -c 'python train.py --rank $SLURM_PROCID'"),
			"the script reads SLURM_PROCID, and a node has several tasks: read RANK or LOCAL_RANK",
		},
		"nodes": {
			script("#SBATCH -N 2", "srun torchrun train.py --hosts $SLURM_JOB_NODELIST"),
			"the script reads SLURM_JOB_NODELIST, and ranks do not know their nodes: read MASTER_ADDR",
		},
		"an unknown variable": {
			script(name, "srun python a.py $SLURM_TOPOLOGY_ADDR"),
			"the script reads SLURM_TOPOLOGY_ADDR, which has no counterpart: remove it",
		},
		"a task of an array": {
			script(name, "srun python a.py $SLURM_ARRAY_TASK_ID"), "write the number of one task in its place",
		},
		"a file with an image": {
			script(name, "srun --container-image=/images/a.sqsh python a.py"),
			"",
		},
		"a container in a container": {
			script(name, "srun podman-hpc run img python a.py"),
			"podman-hpc starts a container in the container: start the program itself, and give its image with " +
				"--image",
		},
		"hosts of mpirun": {
			script("#SBATCH -N 2", "mpirun --hostfile hosts ./a"),
			"line 3 mpirun: --hostfile names the hosts, of which the operator writes a file: remove it",
		},
		"number": {script("#SBATCH --nodes=two", "srun "+
			"a"), `line 2 --nodes: "two" is no number of nodes: write one`},
		"gpus": {script("#SBATCH --gres=gpu:a100:x", "srun "+
			"a"), `line 2 --gres: "gpu:a100:x" has no number of GPUs`},
		"memory": {script("#SBATCH --mem=lots", "srun a"), `line 2 --mem: "lots" is no amount of memory`},
		"time":   {script("#SBATCH -t soon", "srun a"), `line 2 --time: "soon" is no limit of time`},
		"signal": {script("#SBATCH --signal=@", "srun a"), `line 2 --signal: "@" is no signal`},
		"hosts":  {script("#SBATCH -w node[1-", "srun a"), `line 2 --nodelist: "node[1-" is no list of hosts`},
		"value":  {script("#SBATCH --nodes", "srun a"), "line 2 --nodes: has no value: give one"},
		"quote": {script(`#SBATCH --comment="a`, "srun a"), "line 2 #SBATCH: has a quote without its end: close " +
			"it"},
		"syntax": {script(name, "if true; then"), "line 3: the shell cannot read the script: "},
		"control characters": {
			script(name, "srun python a.py \x7f"), "line 3: has a control character: remove it",
		},
		"too deep": {
			script(name, "x="+strings.Repeat("$(a ", 1000)+strings.Repeat(")", 1000)),
			"the shell cannot read the script: its commands are nested too deeply",
		},
		"DOS": {
			"#!/bin/bash\r\n#SBATCH -N 1\r\nsrun a\r\n",
			"line 1: the script has DOS line breaks, which sbatch refuses: run dos2unix on it",
		},
		"Python": {
			"#!/usr/bin/env python3\n#SBATCH -N 1\nprint(1)\n",
			"line 1: the script is one of python3, and convert reads shell scripts: write a TrainingJob with the " +
				"command [python3, SCRIPT]",
		},
		"no program": {script(name, "srun -N1"), "line 3 srun: starts no program: write one"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := convertOne(t, c.file, ofScripts)
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v\nwant %q", err, c.want)
			}
		})
	}
}

// TestSlurmImages: the image of the script counts, if it is one; else that of the options.
func TestSlurmImages(t *testing.T) {
	const missing = "the script names no container image: give one with --image"
	cases := map[string]struct{ line, option, want, err string }{
		"none":   {"srun python a.py", "", "", missing},
		"option": {"srun python a.py", "mine:1", "mine:1", ""},
		"Pyxis": {"srun --container-image=nvcr.io#nvidia/pytorch:24.05 python a.py", "",
			"nvcr.io/nvidia/pytorch:24.05", ""},
		"Pyxis with user": {"srun --container-image 'me@reg.io#a/b' python a.py", "", "reg.io/a/b", ""},
		"script first":    {"srun --container-image=ubuntu python a.py", "mine:1", "ubuntu", ""},
		"a file": {
			"srun --container-image=/a/b.sqsh python a.py", "", "",
			`line 2 --container-image: "/a/b.sqsh" is no image in a registry: push it to one, and name it with ` +
				"--image",
		},
		"a file and an option": {"srun --container-image=/a/b.sqsh python a.py", "mine:1", "mine:1", ""},
		"Shifter": {"srun shifter --image=docker:nersc/pytorch:1 python a.py", "", "nersc/pytorch:1",
			""},
		"Apptainer": {"srun apptainer exec --nv -B /d:/d docker://nvcr.io/a:1 python a.py", "",
			"nvcr.io/a:1", ""},
		"Singularity's file": {"srun singularity exec --nv a.sif python a.py", "mine:1", "mine:1", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, _, err := convertOne(t, "#!/bin/bash\n"+c.line+"\n#SBATCH -N 1\n", convert.Options{Image: c.option})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff([]string{"python", "a.py"}, job.Spec.Command); job.Spec.Image != c.want ||
				diff != "" {
				t.Errorf("image %q, want %q\n%s", job.Spec.Image, c.want, diff)
			}
		})
	}
}

// TestSlurmLayouts: a rank is a node, and has the resources of its tasks.
func TestSlurmLayouts(t *testing.T) {
	cases := map[string]struct {
		options, step   string
		replicas        int32
		cpu, memory     string
		gpus, processes string
	}{
		"default":        {"--comment=a", "srun", 1, "1", "0", "0", ""},
		"nodes":          {"-N4 --gres=gpu:8 -c 96", "srun", 4, "96", "0", "8", ""},
		"tasks of nodes": {"-N 2 -n 16 --cpus-per-task 4 --gpus-per-task=1", "srun", 2, "32", "0", "8", "8"},
		"nodes of tasks": {"-n 16 --ntasks-per-node=8", "srun", 2, "8", "0", "0", "8"},
		"all GPUs":       {"-N 2 -G a100:16", "srun", 2, "1", "0", "8", ""},
		"GPUs of a node": {"--nodes=2 --gpus-per-node=h100:4 --cpus-per-gpu=8 --mem-per-gpu=1G", "srun", 2,
			"32", "4Gi", "4", ""},
		"tasks of GPUs":       {"-N 1 --gpus-per-node=4 --ntasks-per-gpu=1", "srun", 1, "4", "0", "4", "4"},
		"memory in MiB":       {"--mem=2048", "srun", 1, "1", "2Gi", "0", ""},
		"memory of CPUs":      {"-c 4 --mem-per-cpu=512M", "srun", 1, "4", "2Gi", "0", ""},
		"abbreviated options": {"--nodes=2 --ntasks-per-nod=2 --parti=a", "srun", 2, "2", "0", "0", "2"},
		"a step with options": {"-N 4 --ntasks-per-node=8 --gpus-per-node=8", "srun -N 2 --ntasks-per-node=1", 2,
			"8", "0", "8", ""},
		"a step's variables": {"-N 4 -n 32 --gres=gpu:8", "srun --ntasks=$SLURM_NNODES --ntasks-per-node=1", 4,
			"8", "0", "8", ""},
		"fewer tasks":          {"-N 4", "srun -n 2", 2, "1", "0", "0", ""},
		"a whole node":         {"--exclusive", "srun", 1, "0", "0", "0", ""},
		"the last option":      {"-N 2 -N 3", "srun", 3, "1", "0", "0", ""},
		"quotes, and comments": {`--nodes="2" # -N 4`, "srun", 2, "1", "0", "0", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, result, err := convertOne(t, script("#SBATCH "+c.options, c.step+" python a.py"), ofScripts)
			if err != nil {
				t.Fatal(err)
			}
			r := job.Spec.Resources.Requests
			gpus := r["nvidia.com/gpu"]
			got := []string{r.Cpu().String(), r.Memory().String(), gpus.String()}
			want := []string{c.cpu, c.memory, c.gpus}
			if diff := gocmp.Diff(want, got); diff != "" || *job.Spec.Replicas != c.replicas {
				t.Errorf("%d ranks, want %d; CPUs, memory, GPUs (-want +got):\n%s\n%v", *job.Spec.Replicas, c.replicas,
					diff,
					result.Warnings)
			}
			processes := ""
			if job.Spec.Command[0] == "torchrun" {
				processes = strings.TrimPrefix(job.Spec.Command[1], "--nproc_per_node=")
			}
			if processes != c.processes {
				t.Errorf("processes %q, want %q", processes, c.processes)
			}
		})
	}
}
