package render

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestRender compares whole rendered objects with testdata/objects.
func TestRender(t *testing.T) {
	roles := jobtest.New(0, jobtest.Roles, func(j *v1alpha1.TrainingJob) {
		jobtest.SetGPUs(j, v1alpha1.RoleWorker, "4")
		worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		worker.Template.Labels = map[string]string{v1alpha1.LabelKueueQueue: "not-for-pods", "team": "a", v1alpha1.LabelJobName: "mine"}
		worker.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NCCL_DEBUG", Value: "INFO"}, {Name: "MASTER_PORT", Value: "29500"}}
		j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
	})
	elastic := jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Framework = v1alpha1.FrameworkCustom
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	})
	saving := jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.Hyperparameters = map[string]v1alpha1.HyperparameterValue{"learningRate": "0.001", "prompt": "costs $(RANK) $"}
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{KeepLast: new(int32(5)), GraceSeconds: new(int32(120)), PVC: v1alpha1.CheckpointClaim{ClaimName: "models"}}
		j.Spec.Resources.Requests["memory"] = resource.MustParse("64Gi")
		j.Spec.Env = []corev1.EnvVar{{Name: "MODEL", Value: "$(HYPERPARAM_LEARNINGRATE)"}}
		j.UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
		j.Status.Attempt = 2
		j.Status.Checkpoint = &v1alpha1.CheckpointStatus{
			ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://models/bert-0a1b2c3d/attempt-1/step-200", Step: 200},
		}
		j.Status.Drain = &v1alpha1.DrainStatus{Resolve: &v1alpha1.ResolveStatus{Try: 1}}
	})
	saving.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	saving.Spec.ServiceAccountName = "trainer"
	saving.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000))}
	store := jobtest.New(0, jobtest.Roles, func(j *v1alpha1.TrainingJob) {
		worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		worker.Template.Spec.TerminationGracePeriodSeconds = new(int64(600))
		worker.Template.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch:1"}}
		trainer := &worker.Template.Spec.Containers[0]
		trainer.Command, trainer.Args = []string{"python", "train.py"}, []string{"--epochs=3"}
		trainer.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
		trainer.TerminationMessagePath = "/tmp/word"
		worker.Template.Spec.Containers = append(worker.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
		j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert", CredentialsSecretRef: &v1alpha1.SecretReference{Name: "aws"}}
	})
	resolver, err := Resolver(saving, Agent{Image: "agent:1"})
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]client.Object{
		"checkpoint-worker-0":  rendered(t, saving, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 0}, 2),
		"checkpoint-worker-3":  rendered(t, saving, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 3}, 2),
		"checkpoint-s3-worker": rendered(t, store, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 1}, 1),
		"checkpoint-resolver":  resolver,
		"checkpoint-claim":     Claim(jobtest.New(4, jobtest.Checkpoints)),
		"checkpoint-claim-own": Claim(jobtest.New(1, func(j *v1alpha1.TrainingJob) {
			size := resource.MustParse("1Ti")
			j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{Size: &size, StorageClassName: new("nfs"), Retain: v1alpha1.DeleteClaim}}
		})),

		"simple-worker-3": rendered(t, jobtest.New(4), spec.RankRef{Role: v1alpha1.RoleWorker, Index: 3}, 1),
		"roles-master-0":  rendered(t, roles, spec.RankRef{Role: v1alpha1.RoleMaster, Index: 0}, 2),
		"roles-worker-1":  rendered(t, roles, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 1}, 2),
		"custom-worker-0": rendered(t, elastic, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 0}, 1),
		"service":         Service(jobtest.New(4)),
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

func rendered(t *testing.T, job *v1alpha1.TrainingJob, ref spec.RankRef, attempt int32) *corev1.Pod {
	t.Helper()
	agent := Agent{
		Image: "agent:1", ReportURL: "https://operator.example.com:9443/reports", ReportCA: "-----BEGIN CERTIFICATE-----\n", Audience: "trainingjob-reports",
	}
	pod, err := Pod(job, ref, attempt, nil, agent)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestRenderLeavesTheSpecAlone: the job comes from a shared cache.
func TestRenderLeavesTheSpecAlone(t *testing.T) {
	job := jobtest.New(2)
	before := job.DeepCopy()
	rendered(t, job, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 0}, 1)
	Gang(job, 1, false)
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the job was changed (-before +after):\n%s", diff)
	}
}

// TestAgentAsksForNothing: what a rank asks of its node, and so what the gang asks of its queue, is the same
// with the agent.
func TestAgentAsksForNothing(t *testing.T) {
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "nvidia.com/gpu": resource.MustParse("2")},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
	}
	plain := jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.Resources = resources })
	saving := jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) { j.Spec.Resources = resources })
	if diff := cmp.Diff(Gang(plain, 1, false), Gang(saving, 1, false)); diff != "" {
		t.Errorf("the gang differs (-without +with checkpoints):\n%s", diff)
	}
	requests := func(job *v1alpha1.TrainingJob) corev1.ResourceList {
		return requestsOf(&corev1.PodTemplateSpec{Spec: rendered(t, job, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 0}, 1).Spec})
	}
	if diff := cmp.Diff(requests(plain), requests(saving)); diff != "" {
		t.Errorf("a rank's requests differ (-without +with checkpoints):\n%s", diff)
	}
	for _, c := range rendered(t, saving, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 0}, 1).Spec.InitContainers {
		if c.Resources.Limits.Cpu().Cmp(*c.Resources.Requests.Cpu()) != 0 || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("a Guaranteed pod would become Burstable by %s: %v", c.Name, c.Resources)
		}
	}
}
