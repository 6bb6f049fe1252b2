//go:build cluster

package reasons

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// upstream is scheduler-plugins' own example (manifests/coscheduling/scheduler-config.yaml), under the name
// of its second scheduler.
const upstream = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection: {}
profiles:
- schedulerName: scheduler-plugins-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: Coscheduling
    queueSort:
      enabled:
      - name: Coscheduling
      disabled:
      - name: "*"
  pluginConfig:
  - name: Coscheduling
    args:
      permitWaitingTimeSeconds: 10
`

// TestRestingScheduler: with the configuration that upstream shows, a gang that was preempted may rest for
// five minutes beside free nodes after the other has gone. It is woken sooner: no wait here is that patient.
func TestRestingScheduler(t *testing.T) {
	modules := t.TempDir()
	if err := os.CopyFS(modules, os.DirFS("../../lab/modules")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(modules, "scheduler-plugins", "scheduler.yaml")
	if err := os.WriteFile(file, []byte(upstream), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := harness.Start(context.Background(), harness.Options{
		Root: "../..", Schedulers: []string{localcluster.SchedulerCoscheduling}, Modules: modules,
		CoschedulingFlags: []string{},
		Backends:          []scheduler.Backend{coscheduling.New(coscheduling.Options{})},
		AddToScheme:       []func(*runtime.Scheme) error{schedulingv1alpha1.AddToScheme},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after those of the namespace, which need the cluster
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := &fixture{w.NewNamespace(t, v1alpha1.SchedulerCoscheduling, 4)}
	p.Create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000})
	p.Job("bert", 4, "8")
	p.Reaches("bert", v1alpha1.PhaseRunning)
	urgent := p.Job("urgent", 4, "8", func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "urgent"
	})
	p.Reaches("urgent", v1alpha1.PhaseRunning)
	p.Says("bert", v1alpha1.ReasonInsufficientResources)
	p.Delete(urgent)
	bert := p.Reaches("bert", v1alpha1.PhaseRunning)
	group := &schedulingv1alpha1.PodGroup{}
	key := client.ObjectKey{Namespace: p.Name, Name: bert.Status.Scheduling.Group}
	if err := w.Client.Get(t.Context(), key, group); err != nil {
		t.Fatal(err)
	}
	t.Logf("it runs in attempt %d, woken: %q", bert.Status.Attempt, group.Annotations[v1alpha1.AnnotationWoken])
}
