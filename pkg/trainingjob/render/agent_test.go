package render

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestRanksAskToResume: under restart scope Rank every rank has what it needs to ask the report server; in
// a gang that restarts whole only rank 0 has, and it does not ask.
func TestRanksAskToResume(t *testing.T) {
	for scope, want := range map[v1alpha1.RestartScope][]bool{
		v1alpha1.ScopeRank: {true, true}, v1alpha1.ScopeGang: {true, false},
	} {
		job := jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.RestartScope = scope
		})
		for i, canReport := range want {
			pod, err := Pod(job, worker(int32(i)), 1, nil, Agent{Image: "agent:1", ReportURL: "https://reports"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := spec.Framework(job).Trainer(&pod.Spec)
			hasURL := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
				return e.Name == checkpoint.EnvReportURL
			})
			hasToken := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.Name == tokenVolume
			})
			asks := slices.Contains(c.Command, "--ask-resume")
			if hasURL != canReport || hasToken != canReport || asks != (scope == v1alpha1.ScopeRank) {
				t.Errorf("scope %s, rank %d: URL %t, token %t, asks %t", scope, i, hasURL, hasToken, asks)
			}
		}
	}
}

// TestKubeflowProtocol: rank 0's agent serves it, except where mpirun starts the trainer on other nodes.
func TestKubeflowProtocol(t *testing.T) {
	launcher := spec.RankRef{Role: v1alpha1.RoleLauncher}
	cases := map[string]struct {
		job  *v1alpha1.TrainingJob
		rank spec.RankRef
		on   bool
		want bool
	}{
		"rank 0":      {jobtest.New(2, jobtest.Checkpoints), worker(0), true, true},
		"rank 1":      {jobtest.New(2, jobtest.Checkpoints), worker(1), true, false},
		"off":         {jobtest.New(2, jobtest.Checkpoints), worker(0), false, false},
		"no saves":    {jobtest.New(2), worker(0), true, false},
		"mpi":         {jobtest.New(0, overMPI, jobtest.Checkpoints), launcher, true, false},
		"tensorflow":  {jobtest.New(2, jobtest.Checkpoints, ofFramework("tensorflow")), worker(0), true, true},
		"custom ones": {jobtest.New(2, jobtest.Checkpoints, ofFramework("custom")), worker(0), true, true},
	}
	for reason, c := range cases {
		pod, err := Pod(c.job, c.rank, 1, nil, Agent{Image: "agent:1", Kubeflow: c.on}, nil)
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		variable := corev1.EnvVar{Name: checkpoint.EnvKubeflow, Value: "true"}
		if got := slices.Contains(spec.Framework(c.job).Trainer(&pod.Spec).Env, variable); got != c.want {
			t.Errorf("%s: served %t", reason, got)
		}
	}
}

func ofFramework(name v1alpha1.Framework) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.Framework = name }
}

// TestTorchrunWaitsForSaves: torchrun kills its workers no earlier than the agent kills torchrun.
func TestTorchrunWaitsForSaves(t *testing.T) {
	const name = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
	cases := map[string]struct {
		edit func(*v1alpha1.TrainingJob)
		want string
	}{
		"the default":  {jobtest.Checkpoints, "30"},
		"graceSeconds": {graceSeconds(600), "600"},
		"elastic": {func(j *v1alpha1.TrainingJob) {
			graceSeconds(600)(j)
			j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 1}
		}, "600"},
		"no checkpoints":   {func(*v1alpha1.TrainingJob) {}, ""},
		"the user's value": {func(j *v1alpha1.TrainingJob) { graceSeconds(600)(j); setEnv(j, name, "90") }, "90"},
		"no other framework": {func(j *v1alpha1.TrainingJob) {
			graceSeconds(600)(j)
			j.Spec.Framework = "jax"
		}, ""},
	}
	for reason, c := range cases {
		t.Run(reason, func(t *testing.T) {
			trainer := spec.Framework(jobtest.New(2, c.edit)).Trainer(
				&rendered(t, jobtest.New(2, c.edit), worker(0), 1).Spec)
			got := ""
			for _, e := range trainer.Env {
				if e.Name == name {
					got = e.Value
				}
			}
			if got != c.want {
				t.Errorf("%s=%q, want %q", name, got, c.want)
			}
		})
	}
}

func graceSeconds(n int32) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		jobtest.Checkpoints(j)
		j.Spec.Checkpoint.GraceSeconds = &n
	}
}

func setEnv(j *v1alpha1.TrainingJob, name, value string) {
	j.Spec.Env = append(j.Spec.Env, corev1.EnvVar{Name: name, Value: value})
}

// TestAgentRequestsNothing: what a rank requests of its node, and so what the gang requests of its queue, is
// the same with the agent.
func TestAgentRequestsNothing(t *testing.T) {
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			"cpu":            resource.MustParse("4"),
			"memory":         resource.MustParse("8Gi"),
			"nvidia.com/gpu": resource.MustParse("2"),
		},
		Limits: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
	}
	plain := jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.Resources = resources })
	saving := jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) { j.Spec.Resources = resources })
	if diff := cmp.Diff(Gang(plain, 1, false), Gang(saving, 1, false)); diff != "" {
		t.Errorf("the gang differs (-without +with checkpoints):\n%s", diff)
	}
	requests := func(job *v1alpha1.TrainingJob) corev1.ResourceList {
		return scheduler.RequestsOf(&rendered(t, job, worker(0), 1).Spec)
	}
	if diff := cmp.Diff(requests(plain), requests(saving)); diff != "" {
		t.Errorf("a rank's requests differ (-without +with checkpoints):\n%s", diff)
	}
	for _, c := range rendered(t, saving, worker(0), 1).Spec.InitContainers {
		if c.Resources.Limits.Cpu().Cmp(*c.Resources.Requests.Cpu()) != 0 || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("a Guaranteed pod would become Burstable by %s: %v", c.Name, c.Resources)
		}
	}
}

// TestJobsOnOneClaimAreApart: of a shared claim no container of a job mounts anything but the job's own
// directory, also after the job was deleted and applied again; the search looks where the ranks save.
func TestJobsOnOneClaimAreApart(t *testing.T) {
	shared := func(name, uid string) *v1alpha1.TrainingJob {
		return jobtest.New(2, onClaim, func(j *v1alpha1.TrainingJob) {
			j.Name, j.UID = name, types.UID(uid)
			j.Status.Checkpoint = nil
		})
	}
	seen := map[string]bool{}
	for _, job := range []*v1alpha1.TrainingJob{
		shared("bert", "0a1b2c3d-0000"), shared("bert", "ffffffff-0000"), shared("gpt", "0a1b2c3d-0001"),
	} {
		resolver, err := Resolver(job, Agent{Image: "agent:1"})
		if err != nil {
			t.Fatal(err)
		}
		rank := rendered(t, job, worker(0), 1)
		places := map[string]bool{}
		for _, c := range slices.Concat(rank.Spec.InitContainers, rank.Spec.Containers, resolver.Spec.Containers) {
			for _, m := range c.VolumeMounts {
				if m.Name == checkpointsVolume {
					places[m.SubPath] = true
				}
			}
		}
		if len(places) != 1 || places[""] || seen[slices.Collect(maps.Keys(places))[0]] {
			t.Errorf("%s (%s) mounts %v, and others mount %v", job.Name, job.UID, places, seen)
		}
		maps.Copy(seen, places)
		want := "--volume=/checkpoints=pvc://models/" + slices.Collect(maps.Keys(places))[0]
		if !slices.Contains(resolver.Spec.Containers[0].Args, want) {
			t.Errorf("the search has arguments %v, want %s", resolver.Spec.Containers[0].Args, want)
		}
	}
}

// TestTrainersGetTheBase: without a known checkpoint, a trainer on an object store can search there.
func TestTrainersGetTheBase(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.TrainingJob){
		"s3://models/bert/bert-0a1b2c3d": onObjectStore, "/checkpoints": onClaim,
	} {
		job := jobtest.New(2, change, func(j *v1alpha1.TrainingJob) { j.UID = "0a1b2c3d-4e5f" })
		if job.Spec.ReplicaSpecs != nil {
			job = jobtest.New(0, change, func(j *v1alpha1.TrainingJob) { j.UID = "0a1b2c3d-4e5f" })
		}
		env := map[string]string{}
		for _, e := range rendered(t, job, worker(1), 3).Spec.Containers[0].Env {
			env[e.Name] = e.Value
		}
		if got := env[checkpoint.EnvBase]; got != want || env[checkpoint.EnvDir] != want+"/attempt-3" {
			t.Errorf("base %q, directory %q; want base %q", got, env[checkpoint.EnvDir], want)
		}
	}
}

// TestAgentOfServers: of a gang whose first ranks are servers, Worker 0 reports, and its agent takes it for
// rank 0.
func TestAgentOfServers(t *testing.T) {
	job := jobtest.New(0, jobtest.Checkpoints, jobtest.RolesOf("mxnet", map[v1alpha1.Role]int32{
		"Scheduler": 1, "Server": 1, "Worker": 2,
	}))
	var reports []string
	for _, ref := range []spec.RankRef{{Role: "Scheduler"}, {Role: "Server"}, {Role: "Worker"},
		{Role: "Worker", Index: 1}} {
		pod := rendered(t, job, ref, 1)
		token := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == tokenVolume })
		if first := slices.Contains(pod.Spec.Containers[0].Command, "--rank=0"); first != token {
			t.Errorf("%s: its agent is rank 0 %t, it has a token %t", pod.Name, first, token)
		}
		if token {
			reports = append(reports, pod.Name)
		}
	}
	if diff := cmp.Diff([]string{"bert-worker-0"}, reports); diff != "" {
		t.Errorf("who reports (-want +got):\n%s", diff)
	}
}

// TestElasticRank: torchrun gets the minimum and backoffLimit.
func TestElasticRank(t *testing.T) {
	job := jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 2}
		j.Spec.BackoffLimit = new(int32(5))
	})
	env := map[string]string{}
	for _, e := range rendered(t, job, worker(1), 1).Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	if env["PET_NNODES"] != "2:4" || env["PET_MAX_RESTARTS"] != "5" || env["RANK"] != "" {
		t.Errorf("environment %v", env)
	}
}
