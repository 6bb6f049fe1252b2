//go:build e2e

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var (
	played = flag.String("frameworks", "", "the frameworks of TestFrameworksTrain, separated by commas")
	passed = flag.String("passed", "", "existing folder that gets a file NAME for each framework that passes")
)

// framework is a training with a framework's current release.
type framework struct {
	name string
	// packages are a lock of lab/python, and the name of the image with them.
	packages string
	kind     v1alpha1.Framework
	// command runs a program of frameworks/.
	command []string
	env     map[string]string
	// ranks by role; nil: two Workers.
	ranks map[v1alpha1.Role]int32
	// victim is the rank that SIGKILL ends; "": worker-1.
	victim string
	// isElastic: torchrun also trains on with fewer ranks.
	isElastic bool
	// savesAlone: each rank saves when it has received SIGTERM, whatever the others do, and reads no requests of
	// the operator. A save in which the ranks are at different steps stays incomplete.
	savesAlone bool
	// tolerance is the share by which losses after a resume may differ.
	tolerance float64
}

func knownFrameworks() []framework {
	python := func(command ...string) []string { return append([]string{"/usr/bin/python3"}, command...) }
	torchrun := python("-m", "torch.distributed.run", "/opt/train/ddp_train.py")
	deepspeed := python("/opt/train/deepspeed_train.py")
	huggingFace := python("/opt/train/huggingface_train.py")
	pytorch := func(name string, command []string, env map[string]string) framework {
		return framework{name: name, packages: "torch", kind: v1alpha1.FrameworkPyTorch, command: command, env: env}
	}
	elastic, trainer := pytorch("torchrun", torchrun, nil), pytorch("huggingface", huggingFace, nil)
	elastic.isElastic, trainer.savesAlone = true, true
	// Transformers 5.24 also saves in on_pre_optimizer_step. The random state of such a save is that after the
	// dropout of the step that follows. The loss of a new model is 6% higher than that of a resumed one.
	trainer.tolerance = 0.01
	return []framework{
		pytorch("ddp", python("/opt/train/ddp_train.py"), nil),
		elastic,
		pytorch("fsdp2", python("/opt/train/fsdp2_train.py"), nil),
		pytorch("deepspeed-zero2", deepspeed, map[string]string{"ZERO": "2"}),
		pytorch("deepspeed-zero3", deepspeed, map[string]string{"ZERO": "3"}),
		trainer,
		pytorch("huggingface-callback", huggingFace, map[string]string{"CALLBACK": "1"}),
		pytorch("lightning", python("/opt/train/lightning_train.py"), nil),
		{name: "jax", packages: "jax", kind: v1alpha1.FrameworkJAX, command: python("/opt/train/jax_train.py")},
		{name: "keras", packages: "jax", kind: v1alpha1.FrameworkJAX, command: python("/opt/train/keras_train.py")},
		{name: "tensorflow", packages: "tensorflow", kind: v1alpha1.FrameworkTensorFlow,
			command: python("/opt/train/tensorflow_train.py")},
		{
			name: "parameterserver", packages: "tensorflow", kind: v1alpha1.FrameworkTensorFlow,
			command: python("/opt/train/parameterserver_train.py"),
			ranks:   map[v1alpha1.Role]int32{"Chief": 1, "PS": 1, "Worker": 1}, victim: "ps-0",
		},
		{name: "xgboost", packages: "boosting", kind: v1alpha1.FrameworkXGBoost,
			command: python("/opt/train/xgboost_train.py")},
		{name: "lightgbm", packages: "boosting", kind: v1alpha1.FrameworkXGBoost,
			command: python("/opt/train/lightgbm_train.py")},
		{
			name: "mxnet", packages: "mxnet", kind: v1alpha1.FrameworkMXNet,
			command: python("/opt/train/mxnet_train.py"),
			ranks:   map[v1alpha1.Role]int32{"Scheduler": 1, "Server": 1, "Worker": 2},
		},
	}
}

// playedFrameworks are those that the flag names.
func playedFrameworks() ([]framework, error) {
	if *played == "" {
		return nil, nil
	}
	var frameworks []framework
	for name := range strings.SplitSeq(*played, ",") {
		isNamed := func(f framework) bool { return f.name == name }
		i := slices.IndexFunc(knownFrameworks(), isNamed)
		if i < 0 {
			return nil, fmt.Errorf("-frameworks=%s: there is no training with %q", *played, name)
		}
		frameworks = append(frameworks, knownFrameworks()[i])
	}
	return frameworks, nil
}

// Steps of a training, and seconds between two saves of those that save by the job's interval. The others
// save each ten steps (frameworks/gang.py), which take three seconds.
const frameworkSteps, frameworkInterval = 600, 3

// TestFrameworksTrain: ranks of a framework find each other by the operator's variables alone, and save in
// its own way: when the operator asks them to, and at SIGTERM, without losing a step (but see savesAlone).
// After SIGKILL they lose what came after the last save. What they compute is the same bit for bit, but see
// tolerance.
func TestFrameworksTrain(t *testing.T) {
	frameworks, err := playedFrameworks()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			if f.isElastic {
				testElastic(t, f.name+"-elastic", frameworkImages+f.packages+":1")
			}
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, f.name)
			plain := f.submit(t, f.name+"-uninterrupted", "0")
			plain.untilSucceeded()

			j := f.submit(t, f.name+"-interrupted", "0.3")
			last := []int64{0}
			for attempt, interrupt := range []func(){
				func() { preemptByBroker(j) },
				func() { preempt(j) },
				func() { j.signal(j.trainerOf(cmp.Or(f.victim, "worker-1")), syscall.SIGKILL) },
			} {
				begin := last[attempt]
				j.until("has reported", func(job *v1alpha1.TrainingJob) bool {
					p := job.Status.Progress
					return p != nil && p.Attempt == int32(attempt+1) && p.Step > begin
				})
				j.until("has saved twice, and trained on", func(*v1alpha1.TrainingJob) bool {
					saves := savesOf(j.lines(), int32(attempt+1))
					return len(saves) > 1 && reached(j.lines(), int32(attempt+1)) > saves[1]+1
				})
				interrupt()
				j.until("has another attempt", func(job *v1alpha1.TrainingJob) bool {
					return job.Status.Attempt > int32(attempt+1)
				})
				last = append(last, reached(j.lines(), int32(attempt+1)))
			}
			status := j.untilSucceeded().Status
			f.check(t, plain.lines(), j.lines(), last, status)
			if !t.Failed() && *passed != "" {
				if err := os.WriteFile(filepath.Join(*passed, f.name), nil, 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// submit a gang that pauses for some seconds after each step of all attempts but the fourth.
func (f framework) submit(t *testing.T, name, pause string) *training {
	t.Helper()
	j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
	vars := []corev1.EnvVar{{Name: "STEPS", Value: strconv.Itoa(frameworkSteps)}, {Name: "PAUSE", Value: pause}}
	for name, value := range f.env {
		vars = append(vars, corev1.EnvVar{Name: name, Value: value})
	}
	image := frameworkImages + f.packages + ":1"
	job := j.gang(image, f.command)
	if f.ranks != nil {
		job = j.rolesGang(f.kind, image, f.command, f.ranks)
		for _, r := range job.Spec.ReplicaSpecs {
			r.Template.Spec.Containers[0].Env = vars
		}
	} else {
		job.Spec.Framework, job.Spec.Replicas, job.Spec.Env = f.kind, new(int32(2)), vars
	}
	j.saveOnDisk(job, frameworkInterval)
	if err := j.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return j
}

// savesOf returns the steps that an attempt has saved.
func savesOf(lines []line, attempt int32) (steps []int64) {
	for _, l := range lines {
		if l.Attempt == attempt && l.Event == "save" {
			steps = append(steps, l.Step)
		}
	}
	return steps
}

// check that each attempt resumed where it must: last are the last steps of the attempts, after a 0.
func (f framework) check(t *testing.T, whole, lines []line, last []int64, status v1alpha1.TrainingJobStatus) {
	t.Helper()
	points := map[int32]int64{}
	for _, l := range lines {
		if l.Event == "start" && l.Attempt > 1 {
			points[l.Attempt] = l.Step
		}
	}
	t.Logf("the attempts ended after steps %v and resumed from %v", last[1:], points)
	for attempt := int32(2); attempt <= 3; attempt++ {
		if !f.savesAlone && points[attempt] != last[attempt-1] {
			t.Errorf("attempt %d resumes from step %d, and the one before ended after step %d", attempt,
				points[attempt], last[attempt-1])
		}
	}
	// What is written in the background while a rank is killed may be incomplete.
	for attempt := int32(1); attempt <= 3; attempt++ {
		saves, point := savesOf(lines, attempt), points[attempt+1]
		if oldest := saves[len(saves)-2]; point < oldest || point > last[attempt] {
			t.Errorf("attempt %d resumes from step %d: the one before saved %v and ended after %d", attempt+1, point,
				saves, last[attempt])
		}
	}
	if err := resumedWithin(f.tolerance, whole, lines, frameworkSteps, points); err != nil {
		t.Error(err)
	}
	if asked(lines) == f.savesAlone {
		t.Errorf("attempt 1 saved because the operator asked: %t", f.savesAlone)
	}
	if status.Attempt != 4 || status.Preemptions != 2 || status.Restarts != 1 {
		t.Errorf("attempt %d, %d preemptions, %d restarts; want 4, 2, 1", status.Attempt, status.Preemptions,
			status.Restarts)
	}
}
