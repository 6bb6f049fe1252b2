//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestNonRoot: the profile NonRoot is all that a plain job needs in a namespace under the Pod Security
// Standard "restricted", and its ranks are not root. Without the profile the namespace takes none of them.
func TestNonRoot(t *testing.T) {
	env.logIfFailed(t, "")
	const name = "restricted"
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := env.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		jobs := &v1alpha1.TrainingJob{}
		if err := env.client.DeleteAllOf(context.Background(), jobs, client.InNamespace(name)); err != nil {
			t.Error(err)
		}
	})
	j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, "plain")
	job := func(name string, profile v1alpha1.SecurityProfile) *v1alpha1.TrainingJob {
		job := j.gang(busyboxImage, []string{"/busybox", "sh", "-c", "test $(/busybox id -u) != 0"})
		job.Namespace, job.Name = ns.Name, name
		job.Spec.SecurityProfile = profile
		if err := env.client.Create(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		return job
	}
	refused := job("refused", "")
	untilStatus(t, refused, "is refused", func(st v1alpha1.TrainingJobStatus) bool {
		return st.Scheduling != nil && st.Scheduling.Blocker != nil &&
			st.Scheduling.Blocker.Reason == v1alpha1.ReasonPodRejected
	})
	taken := job("taken", v1alpha1.SecurityNonRoot)
	untilStatus(t, taken, "has succeeded", func(st v1alpha1.TrainingJobStatus) bool {
		return st.Phase == v1alpha1.PhaseSucceeded && st.Restarts == 0
	})
}

func untilStatus(
	t *testing.T, job *v1alpha1.TrainingJob, what string, is func(v1alpha1.TrainingJobStatus) bool,
) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := env.client.Get(ctx, client.ObjectKeyFromObject(job), job)
			return err == nil && is(job.Status), err
		})
	if err != nil {
		t.Fatalf("waiting until %s %s: %v; it is %s: %s, %+v", job.Name, what, err, job.Status.Phase,
			job.Status.Message, job.Status.Scheduling)
	}
}
