//go:build cluster

package topology

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	rack = "example.com/rack"
	// racks and nodesOfRack are the size of a cluster.
	racks, nodesOfRack = 4, 4
)

// fixture is a namespace with racks of its own.
type fixture struct{ *harness.Namespace }

// start a cluster with racks. Both end with the test.
func start(t *testing.T, o harness.Options, s v1alpha1.SchedulerName) fixture {
	t.Helper()
	o.Root = "../.."
	cluster, err := harness.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := fixture{cluster.NewNamespace(t, s, 0)}
	for i := range racks {
		for j := range nodesOfRack {
			f.AddNode(fmt.Sprintf("%s-%d", rackName(i), j), map[string]string{harness.Pool: f.Name, rack: rackName(i)},
				corev1.Taint{Key: harness.Pool, Value: f.Name, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	return f
}

func rackName(i int) string { return fmt.Sprintf("rack-%d", i) }

func within(j *v1alpha1.TrainingJob) {
	j.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{Mode: v1alpha1.TopologyWithin, Key: rack}
}

// fill all nodes of each rack but one.
func (f fixture) fill(edit ...func(*v1alpha1.TrainingJob)) {
	f.T.Helper()
	for i := range racks {
		f.Job(fmt.Sprint("filler-", i), nodesOfRack-1, "8", append([]func(*v1alpha1.TrainingJob){
			func(j *v1alpha1.TrainingJob) { j.Spec.NodeSelector[rack] = rackName(i) },
		}, edit...)...)
	}
	for i := range racks {
		f.Reaches(fmt.Sprint("filler-", i), v1alpha1.PhaseRunning)
	}
}

// keeps: a gang of a rack waits while each rack has one free node, starts in the rack that is freed, and lies
// in one rack again after it has lost a rank. One that is larger than a rack waits without pods.
func (f fixture) keeps(edit ...func(*v1alpha1.TrainingJob)) {
	f.T.Helper()
	f.fill(edit...)
	edit = append([]func(*v1alpha1.TrainingJob){within}, edit...)
	f.Job("gang", nodesOfRack, "8", edit...)
	b := f.Says("gang", v1alpha1.ReasonInsufficientResources)
	f.T.Log(b.Message, "|", b.NextStep)
	for _, part := range []string{
		"needs 32 nvidia.com/gpu in one example.com/rack; the best, rack-", " has 8 free of 32; held by ",
		"; 32 are free in all 4 domains",
	} {
		if !strings.Contains(b.Message, part) {
			f.T.Errorf("the reason lacks %q: %s", part, b.Message)
		}
	}
	f.holdsNothing("gang")

	f.complete("filler-2")
	f.liesIn("gang", 1, rackName(2))
	pods := f.pods("gang")
	f.Delete(&pods[0])
	f.liesIn("gang", 2, "")

	f.Job("too-large", nodesOfRack+1, "8", edit...)
	b = f.Says("too-large", v1alpha1.ReasonExceedsDomain)
	f.T.Log(b.Message, "|", b.NextStep)
	if want := "no example.com/rack has 40 nvidia.com/gpu; the largest, rack-0, has 32 when empty (4 " +
		"domains)"; !strings.
		Contains(b.Message, want) {
		f.T.Errorf("the reason lacks %q: %s", want, b.Message)
	}
	f.Until("too-large has no pods", func(context.Context) (string, error) {
		if n := len(f.pods("too-large")); n > 0 {
			return fmt.Sprintf("%d pods", n), nil
		}
		return "", nil
	})
}

// waitsForTopology waits until the gang waits without pods, because its topology is not served.
func (f fixture) waitsForTopology(name string) v1alpha1.Blocker {
	f.T.Helper()
	b := f.Says(name, v1alpha1.ReasonTopologyNotServed)
	f.T.Log(b.Message, "|", b.NextStep)
	if n := len(f.pods(name)); n > 0 {
		f.T.Errorf("%s waits for its topology with %d pods", name, n)
	}
	return b
}

// liesIn waits until a gang runs in an attempt, and checks that all ranks have nodes of one rack, which the
// status names; in any rack if the name is empty.
func (f fixture) liesIn(name string, attempt int32, domain string) {
	f.T.Helper()
	f.Until(fmt.Sprintf("%s runs in attempt %d and has a domain", name, attempt), func(
		ctx context.Context,
	) (string, error) {
		j, err := f.Get(ctx, name)
		if err != nil {
			return "", err
		}
		st := j.Status
		if st.Phase != v1alpha1.PhaseRunning || st.Attempt != attempt || st.Scheduling.Domain == "" ||
			!meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionTopologyKept) {
			return fmt.Sprintf("%s, attempt %d, %+v: %s", st.Phase, st.Attempt, st.Scheduling, st.Message), nil
		}
		if domain != "" && st.Scheduling.Domain != domain {
			f.T.Errorf("%s lies in %s, want %s", name, st.Scheduling.Domain, domain)
		}
		if got := f.racksOf(name); !slices.Equal(got, []string{st.Scheduling.Domain}) {
			f.T.Errorf("the ranks of %s lie in %v, and the status says %s", name, got, st.Scheduling.Domain)
		}
		return "", nil
	})
}

// racksOf returns the racks of a gang's ranks, sorted.
func (f fixture) racksOf(name string) []string {
	f.T.Helper()
	var found []string
	for _, pod := range f.pods(name) {
		if pod.DeletionTimestamp != nil {
			continue
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}
		if err := f.Client.Get(f.T.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			f.T.Fatal(err)
		}
		found = append(found, node.Labels[rack])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (f fixture) pods(name string) []corev1.Pod {
	f.T.Helper()
	list := &corev1.PodList{}
	if err := f.Client.List(f.T.Context(), list, client.InNamespace(f.Name),
		client.MatchingLabels{v1alpha1.LabelJobName: name}); err != nil {
		f.T.Fatal(err)
	}
	return list.Items
}

func (f fixture) holdsNothing(name string) {
	f.T.Helper()
	for _, pod := range f.pods(name) {
		if pod.Spec.NodeName != "" {
			f.T.Errorf("%s waits, and %s has node %s", name, pod.Name, pod.Spec.NodeName)
		}
	}
}

// complete ends the ranks of a job with 0.
func (f fixture) complete(name string) {
	f.T.Helper()
	for _, pod := range f.pods(name) {
		f.MergePatch(&pod, fmt.Sprintf(`{"metadata":{"annotations":{%q:"0"}}}`, localcluster.AnnotationRunSeconds))
	}
	f.Reaches(name, v1alpha1.PhaseSucceeded)
}
