package convert

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// maxWords bounds a command while variables are replaced.
const maxWords = 1000

// trainer returns the command by which a rank trains: the step's, with what the operator decides taken out.
func (s *slurm) trainer() []*syntax.Word {
	return slices.Concat(s.step.prefix, s.program(s.step.words))
}

func (s *slurm) program(words []*syntax.Word) []*syntax.Word {
	p := s.step
	for i := 0; i < len(words) && len(words) < maxWords; i++ { // options may stand in variables
		for range 10 {
			more, is := s.expanded(words[i])
			if !is || len(more) == 0 || !s.hasRendezvous(more) {
				break
			}
			words = slices.Concat(words[:i], more, words[i+1:])
		}
	}
	name := program(words)
	for _, word := range words {
		if container := program([]*syntax.Word{word}); slices.Contains(
			[]string{"singularity", "apptainer", "shifter"}, container) {
			s.fail(p.at(), "%s starts a container in the container: start the program itself, and give its image "+
				"with --image", container)
		}
	}
	switch {
	case s.job.Spec.Framework == v1alpha1.FrameworkMPI:
		return s.mpirun(words)
	case name == "torchrun":
		return s.torchrun(words[:1], words[1:])
	case pythonName.MatchString(name) && strings.HasPrefix(moduleOf(words), "torch.distributed."):
		at := slices.IndexFunc(words, isModule) + 2
		return s.torchrun(words[:at], words[at:])
	case pythonName.MatchString(name) && moduleOf(words) == "accelerate.commands.launch":
		at := slices.IndexFunc(words, isModule) + 2
		return s.accelerate(words[:at], words[at:])
	case name == "accelerate" && len(words) > 1 && shellText(words[1]) == "launch":
		return s.accelerate(words[:2], words[2:])
	case name == "deepspeed":
		return s.deepspeed(words[1:])
	case pythonName.MatchString(name) && s.tasks > 1:
		return s.python(words)
	case s.tasks > 1 && (p.starter != "" || s.nodes > 1):
		s.fail(p.at(), "starts %d tasks on each node, and a rank starts one program: start it by torchrun, which "+
			"numbers its processes by RANK and LOCAL_RANK, or with --ntasks-per-node=1", s.tasks)
	}
	return words
}

// isModule reports whether a word is Python's option -m.
func isModule(word *syntax.Word) bool { return shellText(word) == "-m" }

// moduleOf returns the module that Python runs; empty for a file.
func moduleOf(words []*syntax.Word) string {
	for i := 1; i+1 < len(words); i++ {
		switch text := shellText(words[i]); {
		case text == "-m":
			return shellText(words[i+1])
		case !strings.HasPrefix(text, "-"):
			return ""
		}
	}
	return ""
}

// Options of launchers that name the nodes, as they are spelled with underscores.
var (
	ofTorchrun = []string{
		"nnodes", "node_rank", "rdzv_backend", "rdzv_conf", "rdzv_endpoint", "rdzv_id", "master_addr",
		"master_port",
		"standalone",
	}
	ofAccelerate = []string{
		"num_machines", "machine_rank", "main_process_ip", "main_process_port", "rdzv_backend", "rdzv_conf",
		"same_network",
	}
	rendezvous = slices.Concat(ofTorchrun, ofAccelerate, []string{"num_nodes", "nproc_per_node"})
)

// hasRendezvous reports whether words have an option of a launcher, at any depth of variables.
func (s *slurm) hasRendezvous(words []*syntax.Word) bool {
	for _, word := range words {
		name, _, _ := launcherOption(word)
		if slices.Contains(rendezvous, name) || isTrainer(program([]*syntax.Word{word})) {
			return true
		}
		if more, is := s.expanded(word); is && len(more) > 0 && shellText(more[0]) != shellText(word) {
			for _, inner := range more {
				name, _, _ := launcherOption(inner)
				if slices.Contains(rendezvous, name) {
					return true
				}
			}
		}
	}
	return false
}

// launcherOption reads --a-b=value as a_b.
func launcherOption(word *syntax.Word) (name, value string, has bool) {
	text := shellText(word)
	if !strings.HasPrefix(text, "-") {
		return "", "", false
	}
	name, value, has = strings.Cut(strings.TrimLeft(text, "-"), "=")
	return strings.ReplaceAll(name, "-", "_"), value, has
}

// without takes options out, with their values, up to the first word that is none of the launcher's. flags
// are options without a value. everywhere: to the end.
func without(words []*syntax.Word, options, flags []string, everywhere bool) (kept []*syntax.Word,
	found []string) {
	for i := 0; i < len(words); i++ {
		name, _, has := launcherOption(words[i])
		isFlag := slices.Contains(flags, name)
		if name == "" && !everywhere {
			return append(kept, words[i:]...), found
		}
		takesNext := name != "" && !has && !isFlag && i+1 < len(words)
		switch {
		case slices.Contains(options, name):
			found = append(found, name)
			if takesNext {
				i++
			}
		case takesNext && !everywhere:
			kept = append(kept, words[i], words[i+1])
			i++
			found = append(found, name)
		default:
			kept = append(kept, words[i])
			if name != "" {
				found = append(found, name)
			}
			if name == "m" || name == "module" {
				return append(kept, words[i+1:]...), found
			}
		}
	}
	return kept, found
}

// torchrun takes the nodes and their meeting from torchrun's options: PET_* variables have them.
func (s *slurm) torchrun(launcher, options []*syntax.Word) []*syntax.Word {
	kept, found := without(options, ofTorchrun, []string{
		"standalone", "m", "module", "no_python", "run_path", "use_env", "virtual_local_rank",
	}, false)
	if s.tasks > 1 {
		s.warn(s.step.at(), "%d tasks of each node started torchrun: each rank starts one", s.tasks)
	}
	words := slices.Clone(launcher)
	if !slices.Contains(found, "nproc_per_node") && s.gpus > 1 { // torchrun's default, and not one for each GPU
		words = append(words, wordOf("--nproc_per_node=1"))
	}
	return append(words, kept...)
}

// accelerate gives accelerate launch the operator's nodes: it reads no variables for them
// (accelerate/commands/launch.py, Accelerate 1.15).
func (s *slurm) accelerate(launcher, options []*syntax.Word) []*syntax.Word {
	kept, _ := without(options, ofAccelerate, []string{"same_network"}, true)
	head := slices.Clone(launcher)
	if s.nodes > 1 {
		for _, option := range []string{
			fmt.Sprintf("--num_machines=%d", s.nodes), "--machine_rank=$NODE_RANK", "--main_process_ip=$MASTER_ADDR",
			"--main_process_port=$MASTER_PORT",
		} {
			head = append(head, wordOf(option))
		}
	}
	return append(head, kept...)
}

// deepspeed becomes torchrun, which has the same part in each rank: DeepSpeed's launcher reaches the nodes by
// ssh.
func (s *slurm) deepspeed(words []*syntax.Word) []*syntax.Word {
	launcher := []*syntax.Word{wordOf("torchrun")}
	flags := []string{
		"module", "m", "no_python", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "bind_cores_to_rank",
		"elastic_training",
	}
	i := 0
	for i < len(words) {
		name, value, has := launcherOption(words[i])
		if name == "" {
			break
		}
		i++
		switch {
		case name == "module" || name == "m":
			launcher = append(launcher, wordOf("-m"))
		case name == "no_python":
			launcher = append(launcher, wordOf("--no_python"))
		case slices.Contains(flags, name):
		case !has && i < len(words):
			value = shellText(words[i])
			i++
		}
		if name == "num_gpus" || name == "num_accelerators" {
			launcher = append(launcher, wordOf("--nproc_per_node="+value))
		}
	}
	s.warn(s.step.at(), "deepspeed becomes torchrun, which starts the same processes in each rank: its "+
		"options of hosts and ports are left out")
	return append(launcher, words[i:]...)
}

// python starts the tasks of a node by torchrun.
func (s *slurm) python(words []*syntax.Word) []*syntax.Word {
	launcher := []*syntax.Word{wordOf("torchrun"), wordOf(fmt.Sprintf("--nproc_per_node=%d", s.tasks))}
	s.warn(s.step.at(), "the %d tasks of each node become processes of torchrun, which sets RANK and "+
		"LOCAL_RANK: the program must not read SLURM_PROCID and SLURM_LOCALID", s.tasks)
	rest := words[1:]
	for len(rest) > 0 && shellText(rest[0]) == "-u" { // PYTHONUNBUFFERED is set
		rest = rest[1:]
	}
	if len(rest) > 0 && strings.HasPrefix(shellText(rest[0]), "-") && !isModule(rest[0]) {
		return slices.Concat(launcher, []*syntax.Word{wordOf("--no_python")}, words)
	}
	return append(launcher, rest...)
}

// mpirun starts the processes from the Launcher. srun becomes mpirun.
func (s *slurm) mpirun(words []*syntax.Word) []*syntax.Word {
	if s.step.starter == "srun" {
		return slices.Concat([]*syntax.Word{
			wordOf("mpirun"), wordOf("-np"), wordOf(fmt.Sprint(s.nodes * s.tasks)),
		}, words)
	}
	for _, word := range words[1:] {
		switch name, _, _ := launcherOption(word); name {
		case "hostfile", "machinefile", "H", "host", "hosts", "f":
			s.fail(s.step.at(), "%s names the hosts, of which the operator writes a file: remove it", shellText(word))
		}
	}
	return words
}
