//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// team is a namespace in which a test submits jobs.
type team struct{ *harness.Namespace }

func newTeam(t *testing.T, w *harness.Cluster, s v1alpha1.SchedulerName, name string) team {
	return team{w.Namespace(t, s, name)}
}

// apply files of examples/quotas unchanged. They are deleted with the cluster.
func apply(t *testing.T, w *harness.Cluster, files ...string) {
	t.Helper()
	for _, file := range files {
		found, err := apitest.Read(filepath.Join(root, "examples/quotas", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range found {
			// Some exist, such as Volcano's queue root. The server refuses unknown fields.
			if err := w.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o.Unstructured),
				client.FieldOwner("admin"), client.ForceOwnership); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

// submit a gang whose ranks also request CPUs and memory, as real ones do.
func (p team) submit(name string, ranks int32, gpus string, edit ...func(*v1alpha1.TrainingJob)) {
	p.T.Helper()
	p.Create(p.Gang(name, ranks, gpus, append([]func(*v1alpha1.TrainingJob){func(j *v1alpha1.TrainingJob) {
		j.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
		j.Spec.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("4Gi")
	}}, edit...)...))
}

// inLimits has GPUs given as limits alone, as most people write them.
func inLimits(j *v1alpha1.TrainingJob) {
	j.Spec.Resources.Limits = corev1.ResourceList{harness.GPU: j.Spec.Resources.Requests[harness.GPU]}
	delete(j.Spec.Resources.Requests, harness.GPU)
}

// runs waits until the job runs whole in an attempt.
func (p team) runs(name string, attempt int32) {
	p.T.Helper()
	p.Until(fmt.Sprintf("%s runs whole in attempt %d", name, attempt),
		func(ctx context.Context) (string, error) {
			j, err := p.Get(ctx, name)
			if err != nil {
				return "", err
			}
			st := j.Status
			if st.Phase != v1alpha1.PhaseRunning || st.Attempt != attempt || st.ReadyReplicas != st.Replicas ||
				st.Scheduling.Blocker != nil {
				return fmt.Sprintf("%s, attempt %d, gang %s: %s", st.Phase, st.Attempt, st.Gang, st.Message), nil
			}
			return "", nil
		})
}

// waits until the job waits for a reason, and checks that it occupies nothing.
func (p team) waits(name, reason string) v1alpha1.Blocker {
	p.T.Helper()
	b := p.Says(name, reason)
	p.holdsNothing(name)
	p.T.Logf("%s/%s: %s: %s; %s (need %v, free %v)", p.Name, name, b.Reason, b.Message, b.NextStep, b.Need,
		b.Free)
	return b
}

// holdsNothing checks that no rank is bound.
func (p team) holdsNothing(name string) {
	p.T.Helper()
	for _, pod := range p.pods(name) {
		if pod.Spec.NodeName != "" && live(&pod) {
			p.T.Errorf("%s waits, and %s holds node %s", name, pod.Name, pod.Spec.NodeName)
		}
	}
}

func (p team) pods(name string) []corev1.Pod {
	p.T.Helper()
	list := &corev1.PodList{}
	if err := p.Client.List(p.T.Context(), list, client.InNamespace(p.Name),
		client.MatchingLabels{v1alpha1.LabelJobName: name}); err != nil {
		p.T.Fatal(err)
	}
	return list.Items
}

func live(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// sentBack waits until a running gang was preempted whole, without a failure.
func (p team) sentBack(name string) {
	p.T.Helper()
	p.Until(name+" is sent back whole", func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, name)
		if err != nil {
			return "", err
		}
		st := j.Status
		if st.Phase != v1alpha1.PhaseQueued || st.Attempt != 2 || st.Preemptions != 1 || st.Restarts != 0 {
			return fmt.Sprintf("%s, attempt %d, preemptions %d, restarts %d", st.Phase, st.Attempt,
				st.Preemptions, st.Restarts), nil
		}
		return "", nil
	})
	p.holdsNothing(name)
}

// undisturbed checks that jobs still run in their first attempt.
func (p team) undisturbed(names ...string) {
	p.T.Helper()
	for _, name := range names {
		j, err := p.Get(p.T.Context(), name)
		if err != nil {
			p.T.Fatal(err)
		}
		if st := j.Status; st.Phase != v1alpha1.PhaseRunning || st.Attempt != 1 || st.Preemptions != 0 {
			p.T.Errorf("%s should run undisturbed: %s, attempt %d, preemptions %d: %s", name, st.Phase,
				st.Attempt, st.Preemptions, st.Message)
		}
	}
}

// complete makes the ranks of jobs exit with 0.
func (p team) complete(names ...string) {
	p.T.Helper()
	for _, name := range names {
		for _, pod := range p.pods(name) {
			p.MergePatch(&pod, fmt.Sprintf(`{"metadata":{"annotations":{%q:"0"}}}`, localcluster.AnnotationRunSeconds))
		}
	}
	for _, name := range names {
		p.Reaches(name, v1alpha1.PhaseSucceeded)
	}
}

// remove jobs and wait until their pods are gone.
func (p team) remove(names ...string) {
	p.T.Helper()
	for _, name := range names {
		j, err := p.Get(p.T.Context(), name)
		if err != nil {
			p.T.Fatal(err)
		}
		p.Delete(j)
	}
	for _, name := range names {
		p.Until(name+" leaves nothing", func(ctx context.Context) (string, error) {
			if n := len(p.pods(name)); n > 0 {
				return fmt.Sprintf("%d pods", n), nil
			}
			return "", nil
		})
	}
}

// needs waits until the status of the job has this reason with these numbers. The first numbers can be
// outdated, like the scheduler's own status; the operator updates them within a minute.
func (p team) needs(name, reason, need, free string) v1alpha1.Blocker {
	p.T.Helper()
	return p.waitsUntil(name, reason, "needs "+need+", free "+free, func(b v1alpha1.Blocker) bool {
		n, f := b.Need[harness.GPU], b.Free[harness.GPU]
		return n.String() == need && f.String() == free
	})
}

// waitsUntil waits until what the job says satisfies a condition, and returns it.
func (p team) waitsUntil(name, reason, what string, is func(v1alpha1.Blocker) bool) v1alpha1.Blocker {
	p.T.Helper()
	b := p.waits(name, reason)
	p.Until(name+" says: "+what, func(ctx context.Context) (string, error) {
		job, err := p.Get(ctx, name)
		if err != nil {
			return "", err
		}
		b = v1alpha1.Blocker{}
		if s := job.Status.Scheduling; s != nil && s.Blocker != nil {
			b = *s.Blocker
		}
		if b.Reason != reason || !is(b) {
			return fmt.Sprintf("%s: %s", b.Reason, b.Message), nil
		}
		return "", nil
	})
	return b
}

// in returns the team for use in a subtest.
func (p team) in(t *testing.T) team {
	namespace := *p.Namespace
	namespace.T = t
	return team{&namespace}
}

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }
