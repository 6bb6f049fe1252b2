//go:build cluster

package reasons

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
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

// TestRestingScheduler: with the configuration that upstream shows, a rejected gang may rest for five minutes
// beside nodes that have become free. It is woken sooner: no wait here is that patient.
func TestRestingScheduler(t *testing.T) {
	modules := t.TempDir()
	if err := os.CopyFS(modules, os.DirFS("../../lab/modules")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(modules, "scheduler-plugins", "scheduler.yaml")
	if err := os.WriteFile(file, []byte(upstream), 0o600); err != nil {
		t.Fatal(err)
	}
	binder := coscheduling.New(coscheduling.Options{})
	w, err := harness.Start(context.Background(), harness.Options{
		Root: "../..", Modules: modules,
		Schedulers:        []string{localcluster.SchedulerCoscheduling, localcluster.SchedulerKueue},
		CoschedulingFlags: []string{},
		Backends:          []scheduler.Backend{binder, kueue.New(kueue.Options{Binder: binder})},
		AddToScheme:       []func(*runtime.Scheme) error{schedulingv1alpha1.AddToScheme, kueue.AddToScheme},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after those of the namespaces, which need the cluster
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("alone", func(t *testing.T) {
		restsAfterPreemption(&fixture{w.NewNamespace(t, v1alpha1.SchedulerCoscheduling, 4)})
	})
	t.Run("as the binder of Kueue", func(t *testing.T) {
		p := &fixture{w.NewNamespace(t, v1alpha1.SchedulerKueue, 4)}
		p.queueOfKueue()
		restsAfterPreemption(p)
	})
}

func restsAfterPreemption(p *fixture) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Value: 1000}
	p.Create(class)
	queued := func(j *v1alpha1.TrainingJob) {
		if p.Scheduler == v1alpha1.SchedulerKueue {
			metav1.SetMetaDataLabel(&j.ObjectMeta, kueue.QueueLabel, p.Name)
		}
	}
	p.Job("bert", 4, "8", queued)
	p.Reaches("bert", v1alpha1.PhaseRunning)
	urgent := p.Job("urgent", 4, "8", queued, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = class.Name
	})
	p.Reaches("urgent", v1alpha1.PhaseRunning)
	p.Says("bert", v1alpha1.ReasonInsufficientResources)
	p.Delete(urgent)
	job := p.Reaches("bert", v1alpha1.PhaseRunning)
	groups := &schedulingv1alpha1.PodGroupList{}
	if err := p.Client.List(p.T.Context(), groups, client.InNamespace(p.Name)); err != nil {
		p.T.Fatal(err)
	}
	for _, group := range groups.Items {
		p.T.Logf("%s runs in attempt %d, woken: %q", group.Name, job.Status.Attempt,
			group.Annotations[v1alpha1.AnnotationWoken])
	}
}

// queueOfKueue makes a LocalQueue with the namespace's name. Its quota is twice the GPUs that the nodes have,
// so what is in the way of a gang is for the binder to clear.
func (p *fixture) queueOfKueue() {
	p.Create(&kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: p.Name}})
	p.Create(&kueuev1beta2.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: kueuev1beta2.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueuev1beta2.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{gpu},
				Flavors: []kueuev1beta2.FlavorQuotas{{
					Name: kueuev1beta2.ResourceFlavorReference(p.Name),
					Resources: []kueuev1beta2.ResourceQuota{{
						Name: gpu, NominalQuota: resource.MustParse("64"),
					}},
				}},
			}},
		},
	})
	p.Create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: p.Name},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(p.Name)},
	})
}
