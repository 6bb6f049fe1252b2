//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Ranks of every framework find each other by its variables alone. XGBoost is the real one; for those that
// Debian does not have, ranks/mesh.py goes the framework's way.
func TestFrameworksMeet(t *testing.T) {
	mesh := func(framework string) []string { return []string{"/usr/bin/python3", "/opt/mesh.py", framework} }
	type ranks = map[v1alpha1.Role]int32
	for name, c := range map[string]struct {
		framework v1alpha1.Framework
		command   []string
		ranks     ranks
		// through are the ranks that must have exited 0; the others serve until they are ended.
		through ranks
	}{
		"tensorflow-with-a-chief": {
			v1alpha1.FrameworkTensorFlow, mesh("tensorflow"),
			ranks{"Chief": 1, "PS": 1, "Worker": 1, "Evaluator": 1}, ranks{"Chief": 1},
		},
		"tensorflow-without-one": {
			v1alpha1.FrameworkTensorFlow, mesh("tensorflow"), ranks{"PS": 2, "Worker": 2}, ranks{"Worker": 2},
		},
		"mxnet": {
			v1alpha1.FrameworkMXNet, mesh("mxnet"), ranks{"Scheduler": 1, "Server": 1, "Worker": 2},
			ranks{"Worker": 2},
		},
		"xgboost": {
			v1alpha1.FrameworkXGBoost, []string{"/usr/bin/python3", "/opt/xgboost_ranks.py"},
			ranks{"Master": 1, "Worker": 2}, ranks{"Master": 1},
		},
		"xgboost-without-a-master": {
			v1alpha1.FrameworkXGBoost, []string{"/usr/bin/python3", "/opt/xgboost_ranks.py"},
			ranks{"Worker": 3}, ranks{"Worker": 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, name)
			j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
			job := j.rolesGang(c.framework, pytorchImage, c.command, c.ranks)
			if err := env.client.Create(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			status := j.untilSucceeded().Status
			if status.Attempt != 1 || status.Restarts != 0 {
				t.Errorf("attempt %d, %d restarts: some rank has failed", status.Attempt, status.Restarts)
			}
			for role, n := range c.through {
				if got := status.ReplicaStatuses[role].Succeeded; got != n {
					t.Errorf("%d ranks of role %s have succeeded, want %d", got, role, n)
				}
			}
			j.untilNoPodRuns()
		})
	}
}

// TestXGBoostPreempted: the tracker and its workers go back whole, and meet again under the same names.
func TestXGBoostPreempted(t *testing.T) {
	const name = "xgboost-preempted"
	t.Cleanup(func() { env.clear(t) })
	env.logIfFailed(t, name)
	j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
	command := []string{"/usr/bin/python3", "/opt/xgboost_ranks.py", "3600"}
	job := j.rolesGang(v1alpha1.FrameworkXGBoost, pytorchImage, command,
		map[v1alpha1.Role]int32{"Master": 1, "Worker": 1})
	if err := j.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	j.untilLogged("master-0", "all have met")
	j.preempt().remove()
	status := j.untilSucceeded().Status
	if status.Attempt != 2 || status.Preemptions != 1 || status.Restarts != 0 {
		t.Errorf("attempt %d, %d preemptions, %d restarts", status.Attempt, status.Preemptions, status.Restarts)
	}
}

// rolesGang is a gang in the full form, with a GPU for each rank.
func (j *training) rolesGang(
	framework v1alpha1.Framework, image string, command []string, ranks map[v1alpha1.Role]int32,
) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: j.name}}
	job.Spec.Framework = framework
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = j.scheduler
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for role, n := range ranks {
		job.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{
			Replicas: &n,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "trainer", Image: image, Command: command,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
					gpu: resource.MustParse("1"),
				}},
			}}}},
		}
	}
	return job
}

// untilNoPodRuns waits until no pod of the job holds the node, not even a parameter server.
func (j *training) untilNoPodRuns() {
	j.t.Helper()
	var left []string
	err := wait.PollUntilContextTimeout(j.t.Context(), 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			pods := &corev1.PodList{}
			err := j.client.List(ctx, pods, client.InNamespace(namespace),
				client.MatchingLabels{v1alpha1.LabelJobName: j.name})
			left = nil
			for _, pod := range pods.Items {
				if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
					left = append(left, pod.Name)
				}
			}
			return err == nil && len(left) == 0, err
		})
	if err != nil {
		j.t.Errorf("waiting until no pod runs: %v; these do: %v", err, left)
	}
}
