package trainingjob

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestRender compares whole rendered objects with testdata/objects.
func TestRender(t *testing.T) {
	roles := newJob(0, withRoles, func(j *v1alpha1.TrainingJob) {
		setGPUs(j, v1alpha1.RoleWorker, "4")
		worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		worker.Template.Labels = map[string]string{v1alpha1.LabelKueueQueue: "not-for-pods", "team": "a", v1alpha1.LabelJobName: "mine"}
		worker.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NCCL_DEBUG", Value: "INFO"}, {Name: "MASTER_PORT", Value: "29500"}}
		j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
	})
	elastic := newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Framework = v1alpha1.FrameworkCustom
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	})
	objects := map[string]client.Object{
		"simple-worker-3": RenderPod(newJob(4), RankRef{v1alpha1.RoleWorker, 3}, 1, nil),
		"roles-master-0":  RenderPod(roles, RankRef{v1alpha1.RoleMaster, 0}, 2, nil),
		"roles-worker-1":  RenderPod(roles, RankRef{v1alpha1.RoleWorker, 1}, 2, nil),
		"custom-worker-0": RenderPod(elastic, RankRef{v1alpha1.RoleWorker, 0}, 1, nil),
		"service":         RenderService(newJob(4)),
	}
	for name, obj := range objects {
		got, err := yaml.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "objects", name+".yaml")
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRenderLeavesTheSpecAlone: the job comes from a shared cache.
func TestRenderLeavesTheSpecAlone(t *testing.T) {
	job := newJob(2)
	before := job.DeepCopy()
	RenderPod(job, RankRef{v1alpha1.RoleWorker, 0}, 1, nil)
	NewGang(job, 1, false)
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the job was changed (-before +after):\n%s", diff)
	}
}
