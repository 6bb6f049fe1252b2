//go:build cluster

package reasons

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestPreemptionDryRun: of two gangs of low priority the one that has just saved would yield to an
// urgent one, and that is all that happens.
func TestPreemptionDryRun(t *testing.T) {
	o := options()
	o.Schedulers = []string{localcluster.SchedulerVolcano}
	o.Backends = []scheduler.Backend{volcano.New(volcano.DefaultOptions())}
	o.AgentImage = "registry.example.com/agent:1"
	o.Planning = &planner.Options{
		MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute, MaxPlans: 8,
	}
	w, err := harness.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := &fixture{w.NewNamespace(t, v1alpha1.SchedulerVolcano, 2)}
	p.priorityClass("low", 1000, corev1.PreemptLowerPriority)
	p.priorityClass("patient", 100000, corev1.PreemptNever) // Volcano itself does not preempt for it
	p.trained("fresh", 10*time.Second)
	p.trained("stale", 50*time.Minute)

	p.Job("urgent", 2, "4", ofClass("patient"))
	p.Says("urgent", v1alpha1.ReasonInsufficientResources)
	st := p.preemptionOf("urgent")
	if st.Outcome != v1alpha1.PreemptionPlanned || len(st.Victims) != 1 || st.Victims[0].Name != "fresh" ||
		st.Victims[0].GPUs != 8 || st.Victims[0].Mode != v1alpha1.PreemptionKill {
		t.Fatalf("want fresh alone, got %+v", st)
	}
	// It had saved 10 s before, and another start counts 120 s; the stale one would lose 50 minutes.
	if loss := st.Victims[0].EstimatedLossSeconds; loss < 130 || loss > 1000 || st.LossGPUSeconds != 8*loss {
		t.Errorf("it would lose %d s, all of them %d GPU-seconds", loss, st.LossGPUSeconds)
	}
	shown := p.kubectl("describe", "trainingjob", "urgent")
	for _, line := range []string{"Outcome:", "Planned", "Name:", "fresh", "Loss GPUSeconds:"} {
		if !strings.Contains(shown, line) {
			t.Errorf("kubectl describe does not show %q:\n%s", line, shown)
		}
	}
	for _, line := range []string{"    preemption:\n", "      outcome: Planned\n", "        name: fresh\n"} {
		if yaml := p.kubectl("get", "trainingjob", "urgent", "-o", "yaml"); !strings.Contains(yaml, line) {
			t.Errorf("kubectl get -o yaml does not show %q:\n%s", line, yaml)
		}
	}

	p.Job("equal", 2, "4", ofClass("low"))
	if st := p.preemptionOf("equal"); st.Outcome != v1alpha1.PreemptionNoCover || len(st.Victims) > 0 {
		t.Errorf("no gang has a lower priority: %+v", st)
	}
	p.nothingElse("fresh", "stale")
}

// nothingElse: jobs run as they did, and but for the statuses of those that wait nothing is written any more.
func (p *fixture) nothingElse(running ...string) {
	p.T.Helper()
	for _, name := range running {
		j, err := p.Get(p.T.Context(), name)
		if err != nil {
			p.T.Fatal(err)
		}
		if st := j.Status; st.Phase != v1alpha1.PhaseRunning || st.Attempt != 1 || st.Drain != nil {
			p.T.Errorf("%s is %s in attempt %d: %+v", name, st.Phase, st.Attempt, st.Drain)
		}
		for _, w := range p.Operator.Written(p.Name) {
			if strings.HasPrefix(w, "DELETE") || strings.HasPrefix(w, "PATCH") && strings.Contains(w, "pods/") {
				p.T.Errorf("the operator has written %s", w)
			}
		}
	}
}

func (p *fixture) priorityClass(name string, value int32, policy corev1.PreemptionPolicy) {
	p.Create(&schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &policy,
	})
}

func ofClass(name string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = name }
}

// trained creates a job of class low that has had a node for an hour, with a status whose last checkpoint is
// that old: no program trains on fake nodes.
func (p *fixture) trained(name string, saved time.Duration) {
	p.T.Helper()
	p.Job(name, 2, "4", ofClass("low"), func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{
			Storage: v1alpha1.StorageS3, URI: "s3://models/" + name, Interval: new(int32(86400)),
		}
	})
	j := p.Reaches(name, v1alpha1.PhaseRunning)
	now := time.Now()
	ts := slices.Clone(j.Status.Transitions)
	ts[len(ts)-1].Time = metav1.NewTime(now.Add(-time.Hour))
	at := metav1.NewTime(now.Add(-saved))
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"transitions": ts,
		"checkpoint": v1alpha1.CheckpointStatus{
			Latest: &v1alpha1.CheckpointPoint{URI: "s3://models/" + name + "/attempt-1/step-7", Step: 7, Time: &at},
		},
	}})
	if err != nil {
		p.T.Fatal(err)
	}
	err = p.Client.Status().Patch(p.T.Context(), j, client.RawPatch(types.MergePatchType, patch))
	if err != nil {
		p.T.Fatal(err)
	}
}

// preemptionOf waits until the status of a job names its possible victims.
func (p *fixture) preemptionOf(name string) *v1alpha1.PreemptionStatus {
	p.T.Helper()
	var st *v1alpha1.PreemptionStatus
	p.Until("the status of "+name+" names victims", func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, name)
		if err != nil {
			return "", err
		}
		if j.Status.Scheduling != nil {
			st = j.Status.Scheduling.Preemption
		}
		if st == nil {
			return fmt.Sprintf("%s: %s", j.Status.Phase, j.Status.Message), nil
		}
		return "", nil
	})
	return st
}

// kubectl prints what it shows in the namespace.
func (p *fixture) kubectl(args ...string) string {
	p.T.Helper()
	args = append([]string{"--kubeconfig", p.Kubeconfig(), "--namespace", p.Name}, args...)
	out, err := exec.CommandContext(p.T.Context(), p.Kubectl(), args...).CombinedOutput()
	if err != nil {
		p.T.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
