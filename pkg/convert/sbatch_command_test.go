package convert_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// TestSlurmCommands: a rank starts what a node did, without the options that name the nodes.
func TestSlurmCommands(t *testing.T) {
	shell := func(text string) []string { return []string{"/bin/bash", "-c", text} }
	cases := map[string]struct {
		options string
		lines   []string
		want    []string
	}{
		"torchrun": {
			"-N 2 --gpus-per-node=8", []string{"srun torchrun --nnodes=2 --node-rank=$SLURM_NODEID " +
				"--rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 --nproc-per-node=8 train.py --master_port 1"},
			[]string{"torchrun", "--nproc-per-node=8", "train.py", "--master_port", "1"},
		},
		"torchrun's default": {
			"-N 2 --gpus-per-node=8", []string{"srun torchrun train.py"},
			[]string{"torchrun", "--nproc_per_node=1", "train.py"},
		},
		"a module": {
			"-N 2", []string{"srun torchrun --standalone -m pkg.train --nnodes 3"},
			[]string{"torchrun", "-m", "pkg.train", "--nnodes", "3"},
		},
		"accelerate": {
			"-N 2", []string{"srun accelerate launch --num_machines 2 --machine_rank $SLURM_PROCID " +
				"--main_process_ip $(scontrol show hostnames | head -n1) --num_processes 16 train.py --node_rank 1"},
			[]string{"accelerate", "launch", "--num_machines=2", "--machine_rank=$(NODE_RANK)",
				"--main_process_ip=$(MASTER_ADDR)", "--main_process_port=$(MASTER_PORT)", "--num_processes", "16",
				"train.py", "--node_rank", "1"},
		},
		"deepspeed by ssh": {
			"-N 2", []string{"deepspeed --hostfile hosts --num_gpus=4 --master_port 1 --module train --lr 1"},
			[]string{"torchrun", "--nproc_per_node=4", "-m", "train", "--lr", "1"},
		},
		"tasks of Python": {
			"-N 2 --ntasks-per-node=4", []string{"srun python -u -m train"},
			[]string{"torchrun", "--nproc_per_node=4", "-m", "train"},
		},
		"options of Python": {
			"-N 2 --ntasks-per-node=4", []string{"srun python -X dev train.py"},
			[]string{"torchrun", "--nproc_per_node=4", "--no_python", "python", "-X", "dev", "train.py"},
		},
		"constants": {
			"-N 2", []string{"LR=0.1", `ARGS="--lr $LR --name b"`, "export DIR=/data", "set -e",
				"srun python a.py $ARGS --dir $DIR"},
			[]string{"python", "a.py", "--lr", "0.1", "--name", "b", "--dir", "/data"},
		},
		"quotes in a variable": {
			"-N 2", []string{`ARGS="--name 'a b'"`, "srun python a.py $ARGS"},
			shell("ARGS=\"--name 'a b'\"\nexec python a.py $ARGS\n"),
		},
		"quotes in a second shell": {
			"-N 2", []string{`CMD="python a.py --name 'a b'"`, `srun bash -c "$CMD"`},
			[]string{"python", "a.py", "--name", "a b"},
		},
		"numbers of Slurm": {
			"-N 2 -c 4", []string{"srun python a.py --nodes $SLURM_NNODES --threads $SLURM_CPUS_PER_TASK --node " +
				"$SLURM_NODEID"},
			[]string{"python", "a.py", "--nodes", "2", "--threads", "4", "--node", "$(NODE_RANK)"},
		},
		"a reference to be kept": {
			"-N 2", []string{"srun python a.py '$(HOME) $$'"}, []string{"python", "a.py", "$$(HOME) $$$"},
		},
		"a shell": {
			"-N 2", []string{"cd /work", "srun torchrun train.py"},
			shell("cd /work\nexec torchrun train.py\n"),
		},
		"an expansion": {
			"-N 2", []string{"srun python a.py $HOME/*.json"}, shell("exec python a.py $HOME/*.json\n"),
		},
		"a trap": {
			"-N 2", []string{"trap 'echo' TERM", "srun python a.py &", "wait"},
			shell("trap 'echo' TERM\npython a.py\n"),
		},
		"one node": {
			"-N 1", []string{"python a.py", "python b.py"}, shell("python a.py\npython b.py\n"),
		},
		"behind it on one node": {
			"-N 1", []string{"srun python a.py", "cp -r out /data"}, shell("python a.py\ncp -r out /data\n"),
		},
		"a path to torchrun": {
			"-N 2", []string{"srun $(which torchrun) --nnodes 2 train.py"},
			shell("exec $(which torchrun) train.py\n"),
		},
		"a program that starts it": {
			"-N 2 --ntasks-per-node=4", []string{"srun uv run --frozen python train.py --lr 1"},
			[]string{"uv", "run", "--frozen", "torchrun", "--nproc_per_node=4", "train.py", "--lr", "1"},
		},
		"diagnostics": {
			"-N 2", []string{"srun -N2 -n 2 hostname", "srun nvidia-smi -L", "srun python a.py"}, []string{"python",
				"a.py"},
		},
		"options of a condition": {
			"-N 2", []string{"RUN=torchrun", "if true; then ARGS=(--container-image a); fi",
				`srun "${ARGS[@]}" $RUN --nnodes=2 train.py`},
			shell("if true; then ARGS=(--container-image a); fi\nexec torchrun train.py\n"),
		},
		"nodes of the command line": {
			"--comment=a", []string{"srun -N $SLURM_JOB_NUM_NODES -n ${SLURM_NTASKS} python a.py"}, []string{"python",
				"a.py"},
		},
		"commands of a shell": {
			"-N 2", []string{"srun bash -c 'torchrun train.py; rc=$?; exit $rc'"},
			[]string{"bash", "-c", "torchrun train.py; rc=$?; exit $rc"},
		},
		"the number of tasks": {
			"-N 2", []string{"srun python a.py $HOME $SLURM_NTASKS"},
			shell("SLURM_NTASKS=2\nexec python a.py $HOME $SLURM_NTASKS\n"),
		},
		"modules, and a list in a substitution": {
			"-N 2", []string{"module load a 2>/dev/null && ml b || echo none",
				"srun python a.py $(cat x | head -1 || true)"},
			shell("exec python a.py $(cat x | head -1 || true)\n"),
		},
		"tasks without srun": {
			"-N 1 --ntasks-per-node=4", []string{"python a.py"}, []string{"python", "a.py"},
		},
		"options of srun": {
			"-N 2 --quotatype=auto", []string{"srun -l -u -W 60 -K --export=ALL --cpu-bind=none -- python a.py -N 3"},
			[]string{"python", "a.py", "-N", "3"},
		},
		"a pipe, a file and a list": {
			"-N 2", []string{"srun python a.py 2>&1 | tee log && echo done"}, []string{"python", "a.py"},
		},
		"the number of processes": {
			"-N 2 --gpus-per-node=8", []string{"export WORLD_SIZE=$((SLURM_NNODES * 8))",
				"srun python a.py --size $WORLD_SIZE"},
			shell("export WORLD_SIZE=$((SLURM_NNODES * 8))\nexec python a.py --size $WORLD_SIZE\n"),
		},
		"nodes in a loop": {
			"-N 2", []string{"readarray -t hosts < <(scontrol show hostnames)", "echo ${#hosts[@]} ${hosts[0]} > a",
				"srun python a.py"},
			shell("hosts=($MASTER_ADDR)\necho $SLURM_NNODES ${hosts[0]} >a\nexec python a.py\n"),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			lines := append([]string{"#SBATCH " + c.options}, c.lines...)
			job, result, err := convertOne(t, script(lines...), ofScripts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.want, job.Spec.Command); diff != "" {
				t.Errorf("command (-want +got):\n%s\n%v", diff, result.Warnings)
			}
		})
	}
}

// TestSlurmMPI: mpirun runs in the first node, which has processes too.
func TestSlurmMPI(t *testing.T) {
	for name, c := range map[string]struct {
		options, line string
		workers       int32
		want          []string
	}{
		"mpirun": {"-N 2 --ntasks-per-node=4", "mpirun -np $SLURM_NTASKS ./a", 1, []string{"mpirun", "-np", "8",
			"./a"}},
		"srun":     {"-N 3 --ntasks-per-node=4", "srun --mpi=pmix ./a", 2, []string{"mpirun", "-np", "12", "./a"}},
		"one node": {"-n 4", "mpiexec ./a", 0, []string{"mpiexec", "./a"}},
		"horovod": {"-N 2", "horovodrun -np 2 python a.py", 1, []string{"horovodrun", "-np", "2", "python",
			"a.py"}},
		"no plugin": {"-N 2", "srun --mpi=none python a.py", -1, []string{"python", "a.py"}},
	} {
		t.Run(name, func(t *testing.T) {
			job, _, err := convertOne(t, script("#SBATCH "+c.options, c.line), ofScripts)
			if err != nil {
				t.Fatal(err)
			}
			if c.workers < 0 {
				if job.Spec.Framework != v1alpha1.FrameworkPyTorch {
					t.Errorf("framework %s", job.Spec.Framework)
				}
				return
			}
			launcher := job.Spec.ReplicaSpecs[v1alpha1.RoleLauncher].Template.Spec.Containers[0]
			if diff := gocmp.Diff(c.want, launcher.Command); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			var workers int32
			if w, has := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]; has {
				workers = *w.Replicas
			}
			if workers != c.workers || !*job.Spec.MPI.RunLauncherAsWorker {
				t.Errorf("%d Workers, want %d; mpi %+v", workers, c.workers, job.Spec.MPI)
			}
		})
	}
}

// TestSlurmVariables: a rank has the variables of Slurm that its commands read, and no others.
func TestSlurmVariables(t *testing.T) {
	const arguments = "the script reads arguments of sbatch, which are empty here"
	cases := map[string]struct {
		line, variables string
		warned          bool
	}{
		"none": {"srun python a.py", "", false},
		"in a shell": {"srun bash -c 'echo $SLURM_NODEID $SLURM_JOB_ID; exit 0'",
			"SLURM_JOB_ID=j SLURM_NODEID=$(NODE_RANK)", false},
		"of the tasks": {"srun python a.py $HOME $SLURM_NTASKS $SLURM_PROCID $SLURM_LOCALID",
			"SLURM_LOCALID=0 SLURM_PROCID=$(NODE_RANK)", false},
		"arguments": {`srun python a.py "$@" ${1:-a}`, "", true},
		"of others": {"f() { echo $1 > a; }\nfree | awk '{print $1}' > a; srun python a.py", "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job, result, err := convertOne(t, script("#SBATCH -N 2 -J j", c.line), ofScripts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range job.Spec.Env {
				got = append(got, e.Name+"="+e.Value)
			}
			if text := strings.Join(got, " "); text != c.variables || hasProblem(result.Warnings,
				arguments) != c.warned {
				t.Errorf("variables %q, want %q; %v", text, c.variables, result.Warnings)
			}
		})
	}
}

// TestSlurmTimes reads every form of a limit.
func TestSlurmTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"30": 1800, "10:30": 630, "1:00:00": 3600, "2-0": 172800, "1-12:30": 131400, "0-00:01:30": 90,
		"UNLIMITED": 0,
	} {
		job, _, err := convertOne(t, script("#SBATCH -t "+text, "srun python a.py"), ofScripts)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got int64
		if d := job.Spec.RunPolicy.ActiveDeadlineSeconds; d != nil {
			got = *d
		}
		if got != want {
			t.Errorf("%s is %d s, want %d", text, got, want)
		}
	}
}

// TestSlurmFiles: which files are scripts, and the errors of those that look like one.
func TestSlurmFiles(t *testing.T) {
	job, _, err := convertOne(t, script("#SBATCH -N 1", "srun python a.py"), convert.Options{Image: "i",
		Namespace: "team-b"})
	if err != nil {
		t.Fatal(err)
	}
	if job.Namespace != "team-b" || !strings.HasPrefix(job.Name, "slurm-") {
		t.Errorf("%s/%s", job.Namespace, job.Name)
	}
	if again, _, _ := convertOne(t, script("#SBATCH -N 1", "srun python a.py"),
		ofScripts); again.Name != job.Name {
		t.Errorf("the names %s and %s of one script", again.Name, job.Name)
	}
	for name, c := range map[string]struct{ file, want string }{
		"no directive": {"#!/bin/bash\nsrun a\n", "the file is a script without a line #SBATCH"},
		"no shell":     {"#SBATCH -N 1\nsrun a\n", "a Slurm script begins with its shell: write #!/bin/bash"},
	} {
		if _, err := convert.Split([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  job.sh: |\n    " +
		"#!/bin/bash\n#SBATCH -N 1\n"
	if docs, err := convert.Split([]byte(manifest)); err != nil || docs[0].Kind != "ConfigMap" {
		t.Errorf("%v, %v: want a ConfigMap", docs, err)
	}
}

// TestSlurmNodes: the nodes that a script names become an affinity.
func TestSlurmNodes(t *testing.T) {
	job, _, err := convertOne(t, script("#SBATCH -w gpu[08-10],login -x bad1", "srun python a.py"), ofScripts)
	if err != nil {
		t.Fatal(err)
	}
	terms := job.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	want := []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"gpu08", "gpu09", "gpu10",
			"login"}},
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"bad1"}},
	}
	if diff := gocmp.Diff(want, slices.Concat(terms[0].MatchExpressions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
