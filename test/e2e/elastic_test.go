//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestElastic plays Debian's torchrun; TestFrameworksTrain plays the current one.
func TestElastic(t *testing.T) { testElastic(t, "elastic", pytorchImage) }

// testElastic: torchrun trains on when a rank leaves, and takes the rank that replaces it, in the same
// attempt; a gang that is preempted as a whole begins another one.
func testElastic(t *testing.T, prefix, image string) {
	for name, c := range map[string]struct {
		interrupt func(*training)
		attempt   int32
	}{
		"rank-leaves": {func(j *training) { j.deleteRank("worker-1") }, 1},
		"preempted":   {func(j *training) { j.preempt().remove() }, 2},
	} {
		if *reduced && image == pytorchImage && c.attempt > 1 {
			continue
		}
		name = prefix + "-" + name
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, name)
			j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
			job := j.gang(image, []string{
				"/usr/bin/python3", "-m", "torch.distributed.run", "/opt/elastic.py", "4",
			})
			job.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 2}
			if err := j.client.Create(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			j.untilLogged("worker-0", "the gang is whole")
			c.interrupt(j)
			status := j.untilSucceeded().Status
			if status.Attempt != c.attempt || status.Restarts != 0 {
				t.Errorf("attempt %d with %d restarts, want %d without", status.Attempt, status.Restarts, c.attempt)
			}
		})
	}
}

// deleteRank as kubectl would.
func (j *training) deleteRank(rank string) {
	j.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: j.name + "-" + rank}}
	if err := j.client.Delete(j.t.Context(), pod, client.GracePeriodSeconds(1)); err != nil {
		j.t.Fatal(err)
	}
}

// untilLogged waits until a rank of this attempt has logged a line.
func (j *training) untilLogged(rank, line string) {
	j.t.Helper()
	j.until("has logged "+line, func(*v1alpha1.TrainingJob) bool {
		pod := namespace + "_" + j.name + "-" + rank + "_*"
		logs, _ := filepath.Glob(filepath.Join(j.cluster.PodLogs(), pod, "*", "*.log"))
		for _, path := range logs {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(line)) {
				return true
			}
		}
		return false
	})
}
