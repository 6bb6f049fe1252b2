//go:build cluster

package kueue_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// testCluster is a cluster with Kueue, one queue and one flavor.
type testCluster struct {
	t       *testing.T
	client  client.Client
	backend kueue.Backend
	cluster *localcluster.Cluster
}

func newTestCluster(t *testing.T) *testCluster { return newTestClusterOf(t, "") }

// newTestClusterOf returns a cluster whose Kueue has the given configuration.
func newTestClusterOf(t *testing.T, configuration string) *testCluster {
	c, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(t.TempDir(), "cluster"), Schedulers: []string{localcluster.SchedulerKueue},
		Attached: true, Progress: t.Output(),
		CRDs:           []string{"../../deploy/crd"},
		Configurations: map[string]string{localcluster.SchedulerKueue: configuration},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, c)
		}
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s := &testCluster{
		t: t, backend: kueue.New(kueue.Options{Binder: native.New(native.Options{})}), cluster: c,
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, kueue.AddToScheme, native.AddToScheme,
	} {
		s.must(t, add(scheme))
	}
	s.client, err = client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	s.must(t, err)
	s.prepare()
	return s
}

func (s *testCluster) prepare() {
	s.t.Helper()
	nodes := &corev1.NodeList{}
	s.must(s.t, s.client.List(s.t.Context(), nodes))
	for i := range nodes.Items {
		node := nodes.Items[i].DeepCopy()
		node.Labels["example.com/gpu"] = "h100"
		s.must(s.t, s.client.Patch(s.t.Context(), node, client.MergeFrom(&nodes.Items[i])))
	}
	quota := func(name corev1.ResourceName, amount string) kueuev1beta2.ResourceQuota {
		return kueuev1beta2.ResourceQuota{Name: name, NominalQuota: resource.MustParse(amount)}
	}
	for _, o := range []client.Object{
		&kueuev1beta2.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "production"}, Value: 500},
		&kueuev1beta2.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "experiment"}, Value: -100},
		&kueuev1beta2.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: "h100"},
			Spec: kueuev1beta2.ResourceFlavorSpec{
				NodeLabels: map[string]string{"example.com/gpu": "h100"},
			},
		},
		&kueuev1beta2.ClusterQueue{
			ObjectMeta: metav1.ObjectMeta{Name: "gpus"},
			Spec: kueuev1beta2.ClusterQueueSpec{
				NamespaceSelector: &metav1.LabelSelector{},
				Preemption: &kueuev1beta2.ClusterQueuePreemption{
					WithinClusterQueue: kueuev1beta2.PreemptionPolicyLowerPriority,
				},
				ResourceGroups: []kueuev1beta2.ResourceGroup{{
					CoveredResources: []corev1.ResourceName{"cpu", "memory", "nvidia.com/gpu"},
					Flavors: []kueuev1beta2.FlavorQuotas{{Name: "h100", Resources: []kueuev1beta2.ResourceQuota{
						quota("cpu", "100"), quota("memory", "1Ti"), quota("nvidia.com/gpu", "8"),
					}}},
				}},
			},
		},
		&kueuev1beta2.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Name: "research", Namespace: namespace},
			Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: "gpus"},
		},
		// With a queue of this name Kueue's pod integration takes every pod that no other controller claims.
		&kueuev1beta2.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace},
			Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: "gpus"},
		},
	} {
		s.must(s.t, s.client.Create(s.t.Context(), o))
	}
}

func (s *testCluster) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *testCluster) stop(t *testing.T, policy kueuev1beta2.StopPolicy) {
	t.Helper()
	queue := &kueuev1beta2.LocalQueue{}
	s.must(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "research"}, queue))
	after := queue.DeepCopy()
	after.Spec.StopPolicy = &policy
	s.must(t, s.client.Patch(t.Context(), after, client.MergeFrom(queue)))
}

// runRecipe runs the script of docs/quotas.md for a cluster without the operator.
func (s *testCluster) runRecipe(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../docs/quotas.md")
	s.must(t, err)
	_, script, found := strings.Cut(string(text), "```sh\n")
	script, _, closed := strings.Cut(script, "```")
	if !found || !closed {
		t.Fatal("docs/quotas.md has no script")
	}
	run := exec.CommandContext(t.Context(), "sh", "-ec", script)
	run.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig(),
		"PATH="+filepath.Dir(s.cluster.Kubectl())+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	t.Logf("%s", out)
	s.must(t, err)
}

// logs shows the end of Kueue's log, which is deleted with the cluster.
func logs(t *testing.T, c *localcluster.Cluster) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.LogDir(), "kueue.log"))
	if err != nil {
		t.Log(err)
		return
	}
	t.Logf("the end of Kueue's log:\n%s", text[max(0, len(text)-8<<10):])
}
