package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

func rehearsed(j *v1alpha1.TrainingJob) { j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{} }

// TestRehearsalAddsAFlagAndAVariable: every rank of a rehearsal has a flag of the agent and a variable of the
// trainer more than the same job, and no other difference. A job that is no rehearsal has none of it, even
// if a ConfigMap sets the variable: the report server refuses evidence about such a job.
func TestRehearsalAddsAFlagAndAVariable(t *testing.T) {
	fromConfigMap := func(j *v1alpha1.TrainingJob) {
		jobtest.Checkpoints(j)
		j.Spec.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "has-" + checkpoint.EnvRehearsal},
		}}}
	}
	jobs := map[string]struct {
		replicas int32
		edit     func(*v1alpha1.TrainingJob)
		rank     spec.RankRef
	}{
		"rank 0":      {4, onClaim, worker(0)},
		"rank 3":      {4, onClaim, worker(3)},
		"in bucket":   {0, onObjectStore, worker(1)},
		"a ConfigMap": {2, fromConfigMap, worker(0)},
	}
	for name, j := range jobs {
		plain := rendered(t, jobtest.New(j.replicas, j.edit), j.rank, 2)
		job := jobtest.New(j.replicas, j.edit, rehearsed)
		pod := rendered(t, job, j.rank, 2)
		trainer := spec.Framework(job).Trainer(&pod.Spec)
		is := func(e corev1.EnvVar) bool { return e == corev1.EnvVar{Name: checkpoint.EnvRehearsal, Value: "1"} }
		flag, end := slices.Index(trainer.Command, "--rehearsal"), slices.Index(trainer.Command, "--")
		if !slices.ContainsFunc(trainer.Env, is) || flag < 0 || flag > end {
			t.Fatalf("%s: no %s, or no flag of the agent: %v", name, checkpoint.EnvRehearsal, trainer.Command)
		}
		trainer.Env = slices.DeleteFunc(trainer.Env, is)
		trainer.Command = slices.Delete(trainer.Command, flag, flag+1)
		if diff := cmp.Diff(plain, pod); diff != "" {
			t.Errorf("%s (-without +with a rehearsal):\n%s", name, diff)
		}
	}
}
