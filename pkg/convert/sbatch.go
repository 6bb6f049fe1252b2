package convert

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// slurmSource is the name of the source that has no API version, but a script.
const slurmSource = "slurm"

// maxScript bounds a script, in bytes. A Linux program can get arguments of 128 KiB.
const maxScript = 64 << 10

// slurm is the conversion of one script for sbatch. A rank is a node there; its tasks are processes of the
// rank.
type slurm struct {
	*conversion
	job *v1alpha1.TrainingJob
	// options of the script, and later of its step.
	options []givenOption
	layout
	// gpuResource of the nodes.
	gpuResource corev1.ResourceName
	// requests of a rank.
	requests corev1.ResourceRequirements
	// shell that the first line names, with its options.
	shell []string
	// variables that the script assigns at its top, by name: how often, and the last value.
	assigned map[string]int
	values   map[string]*syntax.Assign
	// constants are those variables that have been looked up, and inlined those whose words stand in the step.
	constants map[string]constant
	inlined   map[string]bool
	// diagnostics are statements that only print what srun finds on the nodes.
	diagnostics map[*syntax.Stmt]bool
	// hostLists are variables with the nodes' names.
	hostLists map[string]bool
	// step is what runs on the nodes; nil: the whole script does.
	step *step
	// reparsed: the step's words pass through a second shell, which reads quotes in variables.
	reparsed bool
	// kept are the statements around the step, which a rank runs too.
	kept, after []*syntax.Stmt
	env         []corev1.EnvVar
	// reads are the variables of Slurm that a rank reads.
	reads      map[string]bool
	image      string
	workingDir string
}

// slurmScript converts a script for sbatch (Slurm 25.05).
func slurmScript(c *conversion, doc Document) *v1alpha1.TrainingJob {
	s := &slurm{
		conversion: c, job: &v1alpha1.TrainingJob{}, gpuResource: nvidiaGPU, assigned: map[string]int{},
		constants: map[string]constant{}, inlined: map[string]bool{}, values: map[string]*syntax.Assign{},
		diagnostics: map[*syntax.Stmt]bool{}, hostLists: map[string]bool{}, reads: map[string]bool{},
	}
	if !s.readable(doc.script) {
		return nil
	}
	stmts := s.parse(doc.script)
	s.options = c.directives(doc.script)
	c.checkOptions(s.options)
	if len(c.errors) > 0 {
		return nil
	}
	s.metadataOf(doc)
	s.assignedBy(stmts)
	s.readLayout()
	s.requests = s.resources()
	s.findStep(stmts)
	if len(c.errors) > 0 {
		return nil
	}
	s.frameworkOfStep()
	s.statements(stmts)
	s.policy()
	s.roles()
	return s.job
}

// readable checks the bytes of a script, and reads its first line.
func (s *slurm) readable(script string) bool {
	first, _, _ := strings.Cut(script, "\n")
	at := lineOf(1, "")
	switch {
	case len(script) > maxScript:
		s.fail(nil, "the script has %d bytes, more than %d: put programs into files of the image", len(script),
			maxScript)
	case !utf8.ValidString(script):
		s.fail(nil, "the script is no text in UTF-8: convert its characters")
	case strings.Contains(script, "\r\n"):
		s.fail(at, "the script has DOS line breaks, which sbatch refuses: run dos2unix on it")
	case strings.ContainsFunc(script, isUnprintable):
		line := strings.Count(script[:strings.IndexFunc(script, isUnprintable)], "\n") + 1
		s.fail(lineOf(uint(line), ""), "has a control character: remove it")
	}
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(word string) bool { return word == "-S" })
	}
	if len(words) == 0 {
		s.fail(at, "names no shell: write #!/bin/bash")
		return false
	}
	if name := path.Base(words[0]); !slices.Contains([]string{"sh", "bash", "dash", "ksh", "zsh"}, name) {
		s.fail(at, "the script is one of %s, and convert reads shell scripts: write a TrainingJob with the "+
			"command [%s, SCRIPT]", name, name)
	}
	s.shell = words
	return len(s.errors) == 0
}

// isUnprintable reports whether a character has no place in YAML.
func isUnprintable(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\ufeff' || r == '\ufffe' || r == '\uffff'
}

func (s *slurm) parse(script string) []*syntax.Stmt {
	stmts, err := parseShell(script)
	if err == nil {
		return stmts
	}
	text := err.Error()
	if parts := parseError.FindStringSubmatch(text); parts != nil {
		line, _ := strconv.ParseUint(parts[1], 10, 32) // the pattern has digits
		s.fail(lineOf(uint(line), ""), "the shell cannot read the script: %s", parts[2])
		return nil
	}
	s.fail(nil, "the shell cannot read the script: %s", text)
	return nil
}

var parseError = regexp.MustCompile(`^([0-9]{1,8}):[0-9]+: (.*)$`)

// metadataOf names the job.
func (s *slurm) metadataOf(doc Document) {
	o, has := last(s.options, "job-name")
	name := jobName(o.value)
	switch {
	case !has || name == "":
		name = slurmSource + "-" + doc.suffix()
		s.warn(nil, "the script has no --job-name: the job is named %s", name)
	case name != o.value:
		s.warn(o.at(), "%q becomes the name %s: a job's name has lower-case letters, digits and '-'", o.value, name)
	}
	from := metav1.ObjectMeta{Name: name}
	if o, has := last(s.options, "account"); has && len(validation.IsValidLabelValue(o.value)) > 0 {
		s.warn(o.at(), "%q cannot be the value of a label, and is left out", o.value)
	} else if has {
		from.Labels = map[string]string{"account": o.value}
	}
	s.job.ObjectMeta = s.metadata(from)
}

// maxJobName leaves room for roles and indexes in the names of pods, in bytes.
const maxJobName = 45

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// jobName makes the name of a TrainingJob of any text; empty if that has no letter or digit.
func jobName(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if name != "" && name[0] <= '9' {
		name = "job-" + name
	}
	return strings.Trim(name[:min(len(name), maxJobName)], "-")
}

// policy writes what the options say of the job's limits and scheduling.
func (s *slurm) policy() {
	run := &s.job.Spec.RunPolicy
	run.SchedulingPolicy.Queue = s.objectName("partition", "the queue")
	run.SchedulingPolicy.PriorityClass = s.objectName("qos", "the priority class")
	if o, has := last(s.options, "time"); has {
		seconds, ok := slurmSeconds(s.resolve(o.value))
		if !ok {
			s.fail(o.at(), "%q is no limit of time: write minutes, hours:minutes:seconds or days-hours", o.value)
		} else if seconds > 0 {
			run.ActiveDeadlineSeconds = &seconds
		}
	}
	if _, has := last(s.options, "hold"); has {
		run.Suspend = new(true)
	}
	// Slurm requeues after lost nodes and preemptions, as the operator always does. A program that fails ends
	// the job.
	s.job.Spec.RestartPolicy = v1alpha1.RestartNever
	if s.requeues() {
		s.job.Spec.RestartPolicy = v1alpha1.RestartOnFailure
		run.BackoffLimit = new(int32(defaultBackoffLimit))
	}
	if o, has := last(s.options, "switches"); has {
		s.warn(o.at(), noCounterpart+": runPolicy.schedulingPolicy.topology with mode Pack prefers nodes of one "+
			"domain")
	}
	s.signal()
}

// requeues reports whether --requeue is the last of its options.
func (s *slurm) requeues() bool {
	for _, o := range slices.Backward(s.options) {
		if o.name == "requeue" || o.name == "no-requeue" {
			return o.name == "requeue"
		}
	}
	return false
}

// objectName is the name of an object that an option means, with a warning since names differ.
func (s *slurm) objectName(option, what string) string {
	o, has := last(s.options, option)
	if !has {
		return ""
	}
	name := s.resolve(o.value)
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		s.warn(o.at(), "%q cannot name %s and is left out: set it yourself", o.value, what)
		return ""
	}
	s.warn(o.at(), "%s becomes %s of the job: check that the cluster has it", name, what)
	return name
}

var signalText = regexp.MustCompile(`^(?:[RB]+:)?([A-Za-z0-9]+)(?:@([0-9]{1,5}))?$`)

// signal asks for a time to save before the end.
func (s *slurm) signal() {
	o, has := last(s.options, "signal")
	if !has {
		return
	}
	parts := signalText.FindStringSubmatch(s.resolve(o.value))
	if parts == nil {
		s.fail(o.at(), "%q is no signal: write one such as B:USR1@120", o.value)
		return
	}
	seconds, _ := strconv.ParseInt(cmp.Or(parts[2], "60"), 10, 32) // at most 5 digits
	grace := int32(min(max(seconds, 1), 86400))
	s.job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{GraceSeconds: &grace}
	s.warn(o.at(), "the operator sends SIGTERM, not %s, %d seconds before SIGKILL, when the job is preempted "+
		"or its time ends: let the program save at SIGTERM below CHECKPOINT_DIR, which is a new claim at "+
		"/checkpoints",
		strings.ToUpper(parts[1]), grace)
}

// resolve replaces variables whose values the script and its options give.
func (s *slurm) resolve(text string) string {
	return shellVariable.ReplaceAllStringFunc(strings.Trim(text, `"'`), func(found string) string {
		name := strings.Trim(found, "${}")
		if value, known := s.constant(name); known {
			return value
		}
		if option, known := optionOfVariable[name]; known {
			if o, has := last(s.options, option); has && !strings.Contains(o.value, "$") {
				return o.value
			}
		}
		if value, known := s.slurmVariable(name); known && s.nodes > 0 && optionOfVariable[name] != "" {
			return value
		}
		return found
	})
}

var shellVariable = regexp.MustCompile(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})`)

// optionOfVariable is the option whose value a variable of Slurm has.
var optionOfVariable = map[string]string{
	"SLURM_CPUS_PER_TASK": "cpus-per-task", "SLURM_GPUS": "gpus", "SLURM_GPUS_PER_NODE": "gpus-per-node",
	"SLURM_JOB_NAME": "job-name", "SLURM_JOB_NUM_NODES": "nodes", "SLURM_NNODES": "nodes",
	"SLURM_NPROCS": "ntasks", "SLURM_NTASKS": "ntasks", "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
	"SLURM_JOB_PARTITION": "partition",
}

// roles writes the ranks: Workers in the simple form, where that suffices.
func (s *slurm) roles() {
	container := s.container()
	if len(s.errors) > 0 {
		return
	}
	spec := &s.job.Spec
	affinity := s.affinity()
	if spec.Framework != v1alpha1.FrameworkMPI && s.workingDir == "" {
		spec.Image, spec.Command, spec.Env = container.Image, container.Command, container.Env
		spec.Replicas, spec.Resources, spec.Affinity = new(int32(s.nodes)), container.Resources, affinity
		return
	}
	role := func(n int64, command []string) v1alpha1.ReplicaSpec {
		own := container
		own.Command = command
		return v1alpha1.ReplicaSpec{Replicas: new(int32(n)), Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{own}, Affinity: affinity},
		}}
	}
	if spec.Framework != v1alpha1.FrameworkMPI {
		spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.RoleWorker: role(s.nodes, container.Command),
		}
		return
	}
	mpi(s.job).RunLauncherAsWorker = new(true)
	mpi(s.job).SlotsPerWorker = new(int32(s.tasks))
	spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleLauncher: role(1, container.Command)}
	if s.nodes > 1 {
		spec.ReplicaSpecs[v1alpha1.RoleWorker] = role(s.nodes-1, nil)
	}
	s.warn(s.step.at(), "the first node is the Launcher, which also has processes; the image needs sshd and "+
		"the MPI implementation: set mpi.implementation unless it is Open MPI")
}

// container of every rank.
func (s *slurm) container() corev1.Container {
	c := corev1.Container{
		Name: framework.TrainerContainer, Image: s.imageOfJob(), Resources: s.requests, WorkingDir: s.workingDir,
	}
	c.Command = s.command()
	c.Env = s.environment()
	return c
}

// imageOfJob is that of the script, else of the options.
func (s *slurm) imageOfJob() string {
	if s.image == "" {
		s.image = s.conversion.options.Image
	}
	if s.image == "" {
		s.fail(nil, "the script names no container image: give one with --image")
	}
	return s.image
}

// environment has the literal variables of the script, and those of Slurm that it reads.
func (s *slurm) environment() []corev1.EnvVar {
	env := slices.Clone(s.env)
	for _, name := range sortedKeys(s.reads) {
		value, _ := s.slurmVariable(name)
		e := variable(name, value)
		if name == nodeName {
			e.ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}
		}
		env = append(env, e)
	}
	return env
}
