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

// TestObjects compares whole rendered objects with testdata/objects.
func TestObjects(t *testing.T) {
	saving, full := jobtest.New(4, onClaim), jobtest.New(0, fullForm)
	resolver, err := Resolver(saving, Agent{Image: "agent:1"})
	if err != nil {
		t.Fatal(err)
	}
	multi, watched := jobtest.New(0, overMPI), jobtest.New(0, fullForm, warn)
	launcher := spec.RankRef{Role: v1alpha1.RoleLauncher}
	objects := map[string]client.Object{
		"mpi-launcher-0":       rendered(t, multi, launcher, 1),
		"mpi-worker-1":         rendered(t, multi, worker(1), 1),
		"mpi-checkpoint-0":     rendered(t, jobtest.New(0, overMPI, jobtest.Checkpoints), worker(0), 1),
		"mpi-secret":           SSHSecret(multi, multi.Status.MPI, []byte("private")),
		"simple-worker-3":      rendered(t, jobtest.New(4), worker(3), 1),
		"roles-master-0":       rendered(t, full, spec.RankRef{Role: v1alpha1.RoleMaster}, 2),
		"roles-worker-1":       rendered(t, full, worker(1), 2),
		"custom-worker-0":      rendered(t, jobtest.New(2, elastic), worker(0), 1),
		"comforts-worker-1":    rendered(t, jobtest.New(2, comforts), worker(1), 1),
		"comforts-monitor":     PodMonitor(jobtest.New(2, comforts)),
		"comforts-spread-root": rendered(t, jobtest.New(2, spread), worker(0), 1),
		"mlflow-worker-0":      rendered(t, jobtest.New(2, withMLflow), worker(0), 1),
		"service":              Service(jobtest.New(4)),
		"checkpoint-worker-0":  rendered(t, saving, worker(0), 2),
		"checkpoint-worker-3":  rendered(t, saving, worker(3), 2),
		"checkpoint-s3-worker": rendered(t, jobtest.New(0, onObjectStore), worker(1), 1),
		"beats-worker-0":       beating(t, jobtest.New(4, warn), worker(0), 1),
		"beats-worker-3":       beating(t, jobtest.New(4, warn), worker(3), 1),
		"beats-checkpoint-3":   beating(t, jobtest.New(4, onClaim), worker(3), 2),
		"beats-master-0":       beating(t, watched, spec.RankRef{Role: v1alpha1.RoleMaster}, 2),
		"checkpoint-resolver":  resolver,
		"checkpoint-claim":     Claim(jobtest.New(4, jobtest.Checkpoints)),
		"checkpoint-claim-own": Claim(jobtest.New(1, ownedClaim)),
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

// fullForm is a job with roles and everything that a template may hold which the operator handles specially.
func fullForm(j *v1alpha1.TrainingJob) {
	jobtest.Roles(j)
	jobtest.SetGPUs(j, v1alpha1.RoleWorker, "4")
	role := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	role.Template.Labels = map[string]string{
		v1alpha1.LabelKueueQueue: "not-for-pods", "team": "a", v1alpha1.LabelJobName: "mine",
	}
	role.Template.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "NCCL_DEBUG", Value: "INFO"}, {Name: "MASTER_PORT", Value: "29500"},
	}
	j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role
	j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
}

// overMPI is a job of framework mpi: two Workers that run sshd, with a sidecar each, and a Launcher.
func overMPI(j *v1alpha1.TrainingJob) {
	pod := func(c ...corev1.Container) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: c}}
	}
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"
	j.Spec = v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.FrameworkMPI,
		MPI:       &v1alpha1.MPISpec{SSHAuthMountPath: "/root/.ssh"},
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.RoleLauncher: {Template: pod(corev1.Container{
				Name: "mpirun", Image: "mpi:1",
				Command: []string{"mpirun"}, Args: []string{"-np", "$(WORLD_SIZE)", "train"},
			})},
			v1alpha1.RoleWorker: {Replicas: new(int32(2)), Template: pod(
				corev1.Container{Name: "worker", Image: "mpi:1", Resources: jobtest.Requests("nvidia.com/gpu", "4")},
				corev1.Container{Name: "sidecar", Image: "sidecar:1"})},
		},
	}
	j.Status.MPI = &v1alpha1.MPIStatus{SSHPublicKey: key, SSHSecretName: spec.SSHSecretName(j, key)}
}

// comforts is a job with all that a pod gets beside its rendezvous, on a cluster whose GPU nodes are tainted.
func comforts(j *v1alpha1.TrainingJob) {
	j.Spec.FrameworkVersion = "2.1.0-cu121"
	j.Spec.SecurityProfile = v1alpha1.SecurityNonRoot
	size := resource.MustParse("16Gi")
	j.Spec.SharedMemory = &size
	j.Spec.Networking = v1alpha1.NetworkingSpec{
		Backend: v1alpha1.BackendNCCL, MasterPort: new(int32(29500)),
		NCCL: map[string]string{"SOCKET_IFNAME": "eth0", "DEBUG": "$(POD_NAME)"},
	}
	j.Spec.Monitoring = &v1alpha1.MonitoringSpec{Port: new(int32(8000))}
	j.Spec.Hyperparameters = map[string]v1alpha1.HyperparameterValue{
		"lr": "0.001", "amp": "true", "optimizer": v1alpha1.TextHyperparameter("adam"),
		"version": v1alpha1.TextHyperparameter("1.10"),
	}
	j.Spec.HyperparametersFrom = &v1alpha1.ConfigMapReference{Name: "defaults"}
	j.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{Mode: v1alpha1.TopologyPack}
	j.Status.Scheduling = &v1alpha1.SchedulingStatus{
		Tolerations:     []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
		ToleratingRoles: []v1alpha1.Role{v1alpha1.RoleWorker},
	}
}

// spread is a job whose own settings stand against what it would get.
func spread(j *v1alpha1.TrainingJob) {
	comforts(j)
	j.Spec.Volumes = []corev1.Volume{{Name: "mine"}}
	j.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "mine", MountPath: "/dev/shm/"}}
	j.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0)), RunAsNonRoot: new(false)}
	j.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	j.Spec.Env = []corev1.EnvVar{{Name: "NCCL_DEBUG", Value: "WARN"}, {Name: "NUM_WORKERS", Value: "7"}}
	j.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{
		Mode: v1alpha1.TopologySpread, Key: "kubernetes.io/hostname",
	}
	j.Spec.Monitoring.Enabled = new(false)
}

// elastic is a job of framework custom whose ranks are restarted singly.
func elastic(j *v1alpha1.TrainingJob) {
	j.Spec.Framework = v1alpha1.FrameworkCustom
	j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
}

// onClaim is a job that resumes from a checkpoint on the user's own claim, while the claim is searched.
func onClaim(j *v1alpha1.TrainingJob) {
	j.UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
	j.Spec.Hyperparameters = map[string]v1alpha1.HyperparameterValue{
		"learningRate": "0.001", "prompt": "costs $(RANK) $",
	}
	j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{
		KeepLast: new(int32(5)), GraceSeconds: new(int32(120)),
		PVC: v1alpha1.CheckpointClaim{ClaimName: "models"},
	}
	j.Spec.Resources.Requests["memory"] = resource.MustParse("64Gi")
	j.Spec.Env = []corev1.EnvVar{{Name: "MODEL", Value: "$(HYPERPARAM_LEARNINGRATE)"}}
	j.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	j.Spec.ServiceAccountName = "trainer"
	j.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000))}
	j.Status.Attempt = 2
	j.Status.Checkpoint = &v1alpha1.CheckpointStatus{
		ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://models/bert-0a1b2c3d/attempt-1/step-200", Step: 200},
	}
	j.Status.Drain = &v1alpha1.DrainStatus{Resolve: &v1alpha1.ResolveStatus{Try: 1}}
}

// onObjectStore is a job in the full form that saves to an object store.
func onObjectStore(j *v1alpha1.TrainingJob) {
	jobtest.Roles(j)
	role := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	pod := &role.Template.Spec
	pod.TerminationGracePeriodSeconds = new(int64(600))
	pod.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch:1"}}
	trainer := &pod.Containers[0]
	trainer.Command, trainer.Args = []string{"python", "train.py"}, []string{"--epochs=3"}
	trainer.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	trainer.TerminationMessagePath = "/tmp/word"
	pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
	j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role
	j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{
		Storage: v1alpha1.StorageS3, URI: "s3://models/bert",
		CredentialsSecretRef: &v1alpha1.SecretReference{Name: "aws"},
	}
}

// ownedClaim describes a claim that is deleted with its job.
func ownedClaim(j *v1alpha1.TrainingJob) {
	size := resource.MustParse("1Ti")
	j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{
		Size: &size, StorageClassName: new("nfs"), Retain: v1alpha1.DeleteClaim,
	}}
}

func worker(index int32) spec.RankRef { return spec.RankRef{Role: v1alpha1.RoleWorker, Index: index} }

// rendered is the pod of a rank, by an operator that is configured in full.
func rendered(t *testing.T, job *v1alpha1.TrainingJob, rank spec.RankRef, attempt int32) *corev1.Pod {
	t.Helper()
	return renderedWith(t, fullAgent, job, rank, attempt)
}

var fullAgent = Agent{
	Image:     "agent:1",
	ReportURL: "https://operator.example.com:9443/reports",
	ReportCA:  "-----BEGIN CERTIFICATE-----\n",
	Audience:  "trainingjob-reports",
}

func renderedWith(
	t *testing.T, agent Agent, job *v1alpha1.TrainingJob, rank spec.RankRef, attempt int32,
) *corev1.Pod {
	t.Helper()
	pod, err := Pod(job, rank, attempt, nil, agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestRenderingChangesNothing: the job comes from a shared cache.
func TestRenderingChangesNothing(t *testing.T) {
	job := jobtest.New(2)
	before := job.DeepCopy()
	rendered(t, job, worker(0), 1)
	Gang(job, 1, false)
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the job was changed (-before +after):\n%s", diff)
	}
}
