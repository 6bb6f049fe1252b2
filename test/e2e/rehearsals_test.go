//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var playsRehearsals = flag.Bool("rehearsals", false,
	"rehearse twelve broken trainers and sound ones, which takes a quarter of an hour")

// rehearsalPatience bounds a rehearsal whose trainer saves nothing, or reports nothing.
const rehearsalPatience = 20 * time.Minute

// rehearsal of a gang of two ranks.
type rehearsal struct {
	name    string
	program program
	exact   bool
	// env of the trainer, see ranks/faults.py.
	env map[string]string
	// failed checks and those with warnings, message of one of them.
	failed, warned []v1alpha1.RehearsalCheckName
	message        string
	// unseen checks of a trainer that is sound.
	unseen []v1alpha1.RehearsalCheckName
	// ways to play, and timeout in seconds; 0: the defaults. grace in seconds; 0: 10.
	ways           []v1alpha1.RehearsalWay
	timeout, grace int32
}

// faulty is ranks/faults.py, whose saves take 1.5 s.
func faulty() program {
	p := pytorch()
	p.command = []string{"/usr/bin/python3", "/opt/faults.py"}
	return p
}

func broken(fault string, failed v1alpha1.RehearsalCheckName, message string) rehearsal {
	return rehearsal{
		name: fault, program: faulty(), env: map[string]string{"FAULT": fault},
		failed: []v1alpha1.RehearsalCheckName{failed}, message: message,
	}
}

// rehearsals in rounds. Those of a round run side by side, the longest ones begin first.
func rehearsals() [][]rehearsal {
	deaf := broken("deaf-in-evaluation", v1alpha1.CheckSavesInTime,
		"asked in Evaluating, it did not save within")
	deaf.env["EVALUATE_SECONDS"] = "40"
	outside := broken("outside", v1alpha1.CheckSaves, "to /tmp/checkpoints/")
	outside.timeout = 300
	silent := broken("never-reports", v1alpha1.CheckReports, "no status file: it cannot be asked to save")
	// In the other ways, the operator waits for minutes and sees the same.
	silent.ways = []v1alpha1.RehearsalWay{v1alpha1.RehearsalKill, v1alpha1.RehearsalKillInSave}
	exits := broken("exit-code", "", "and then exited with 1: a preemption forgives that")
	exits.failed, exits.warned = nil, []v1alpha1.RehearsalCheckName{v1alpha1.CheckExit}
	return [][]rehearsal{
		{{
			name: "example", program: pytorch(), exact: true,
			unseen: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		}},
		{
			deaf, outside, silent,
			broken("slow-saves", v1alpha1.CheckSavesInTime, "graceSeconds is 10: set graceSeconds: "),
			{
				name: "evaluates", program: faulty(), exact: true, env: map[string]string{"EVALUATE_SECONDS": "5"},
			},
			{name: "sound", program: faulty(), exact: true},
			{
				name: "go", program: gotrainer(), exact: true,
				unseen: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
			},
			broken("ignores-resume", v1alpha1.CheckResumes, "load RESUME_FROM_CHECKPOINT"),
			broken("one-shard", v1alpha1.CheckContinues, "only rank 0 wrote files: save every rank's shard"),
			broken("torn-saves", v1alpha1.CheckTorn, "failed to load it: write to a temporary name, rename last"),
			broken("random-state", v1alpha1.CheckData, "were trained on other batches than before"),
			broken("in-place", v1alpha1.CheckTorn, "/last was overwritten: give every step a directory"),
			exits,
			broken("wrong-step", v1alpha1.CheckResumes, "steps were skipped"),
			broken("older", v1alpha1.CheckResumes, "do not search for a checkpoint"),
		},
	}
}

// TestRehearsals: the operator finds each of twelve faults of real trainers, and passes sound ones. With
// -frameworks, it rehearses the trainings of these frameworks instead.
func TestRehearsals(t *testing.T) {
	if !*playsRehearsals {
		t.Log("it is left to make test-rehearsals")
		return
	}
	rounds := rehearsals()
	if *played != "" {
		rounds = [][]rehearsal{rehearsalsOfFrameworks(t)}
	}
	for i, round := range rounds {
		t.Run(fmt.Sprint("round-", i), func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			for _, r := range round {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel() // at most as many as the flag -parallel
					env.logIfFailed(t, "rehearse-"+r.name+"-")
					r.check(t, r.submit(t).untilRehearsed())
				})
			}
		})
	}
}

// rehearsalsOfFrameworks are trainings of frameworks. They report no batches, and save and load quickly.
func rehearsalsOfFrameworks(t *testing.T) (round []rehearsal) {
	t.Helper()
	frameworks, err := playedFrameworks()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frameworks {
		p := program{image: frameworkImages + f.packages + ":1", command: f.command}
		variables := maps.Clone(f.env)
		if variables == nil {
			variables = map[string]string{}
		}
		variables["STEPS"], variables["PAUSE"] = "1000000", "0.2"
		round = append(round, rehearsal{
			name: f.name, program: p, exact: true, env: variables, grace: 60,
			unseen: []v1alpha1.RehearsalCheckName{v1alpha1.CheckData, v1alpha1.CheckTorn, v1alpha1.CheckLoaded},
		})
	}
	return round
}

func (r rehearsal) submit(t *testing.T) *training {
	t.Helper()
	j := env.newTraining(t, r.program, v1alpha1.SchedulerVolcano, "rehearse-"+r.name)
	command := r.program.command
	if r.program.name != "" {
		command = append(slices.Clone(command), "--steps", "1000000", "--step-seconds", "0.1")
	}
	job := j.gang(r.program.image, command)
	delete(job.Spec.Resources.Requests, gpu)
	job.Spec.Replicas = new(int32(2))
	variables := map[string]string{"SAVE_SECONDS": "1.5"}
	maps.Copy(variables, r.env)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		job.Spec.Env = append(job.Spec.Env, corev1.EnvVar{Name: name, Value: variables[name]})
	}
	j.saveOnDisk(job, 30)
	job.Spec.Checkpoint.GraceSeconds, job.Spec.Checkpoint.KeepLast = new(cmp.Or(r.grace, 10)), new(int32(3))
	job.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{Exact: r.exact, Ways: r.ways}
	if r.timeout > 0 {
		job.Spec.Rehearsal.TimeoutSeconds = &r.timeout
	}
	if err := j.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return j
}

// untilRehearsed waits until the rehearsal has a result. Unlike until, it lets the job fail.
func (j *training) untilRehearsed() *v1alpha1.TrainingJob {
	j.t.Helper()
	job := &v1alpha1.TrainingJob{}
	err := wait.PollUntilContextTimeout(j.t.Context(), 100*time.Millisecond, rehearsalPatience, true,
		func(ctx context.Context) (bool, error) {
			err := j.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: j.name}, job)
			return err == nil && job.Status.Rehearsal != nil && job.Status.Rehearsal.Result != "", err
		})
	if err != nil {
		status, _ := json.MarshalIndent(job.Status, "", " ")
		j.t.Fatalf("waiting until %s is rehearsed: %v; its status:\n%s", j.name, err, status)
	}
	return job
}

func (r rehearsal) check(t *testing.T, job *v1alpha1.TrainingJob) {
	t.Helper()
	st := job.Status.Rehearsal
	of := map[v1alpha1.RehearsalOutcome][]v1alpha1.RehearsalCheckName{}
	all := ""
	for _, c := range st.Checks {
		of[c.Outcome] = append(of[c.Outcome], c.Name)
		all += fmt.Sprintf("  %s %s: %s\n", c.Name, c.Outcome, c.Message)
	}
	running := int64(0)
	if w := job.Status.Work; w != nil {
		running = w.RunningSeconds
	}
	t.Logf("%s: %d attempts ran %d s\n%s", st.Result, len(st.Attempts), running, all)
	want := v1alpha1.RehearsalResultPassed
	if len(r.failed) > 0 {
		want = v1alpha1.RehearsalResultFailed
	}
	failed, warned := of[v1alpha1.RehearsalFailed], of[v1alpha1.RehearsalWarning]
	if st.Result != want || !slices.Equal(failed, r.failed) || !slices.Equal(warned, r.warned) {
		t.Errorf("%s, failed %v, warned %v; want %s, %v, %v", st.Result, failed, warned, want, r.failed, r.warned)
	}
	if !strings.Contains(all, r.message) {
		t.Errorf("no message contains %q", r.message)
	}
	for _, name := range of[v1alpha1.RehearsalNotSeen] {
		if len(r.failed)+len(r.warned) == 0 && !slices.Contains(r.unseen, name) {
			t.Errorf("%s was not seen", name)
		}
	}
}
