package framework_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/rendezvous"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// TestSameAsRendezvous holds this package against the code that it replaces, in random jobs; it goes with
// that code.
func TestSameAsRendezvous(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		job := randomJob(rnd)
		f, _ := framework.Get(string(job.Spec.Framework))
		g := framework.Gang{Job: job.Name, Host: func(role string, i int32) string {
			return trainingjob.RankHost(job.Name, trainingjob.RankRef{Role: v1alpha1.Role(role), Index: i})
		}}
		for _, r := range trainingjob.Roles(job) {
			g.Roles = append(g.Roles, f.Role(string(r.Name), r.Replicas, &r.Template.Spec))
		}
		if got, want := g.Leader().Port, trainingjob.RenderService(job).Spec.Ports[0].Port; got != want {
			t.Errorf("seed %d: port %d, want %d", seed, got, want)
		}
		for rank := range g.Ranks() {
			setup, err := f.Setup(g, rank)
			if err != nil {
				t.Fatal(err)
			}
			pod, err := trainingjob.RenderPod(job, trainingjob.RankRef{Role: v1alpha1.Role(rank.Role), Index: rank.Index}, 1, nil, trainingjob.Agent{})
			if err != nil {
				t.Fatal(err)
			}
			rendered := pod.Spec.Containers[0].Env
			if rendered[len(rendered)-1].Name != "TRAININGJOB_ATTEMPT" {
				t.Fatal(rendered)
			}
			if diff := cmp.Diff(rendered[:len(rendered)-1], setup.Env); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
			old := rendezvous.Custom
			if f.Name == "pytorch" {
				old = rendezvous.PyTorch
			}
			want := old(rendezvous.Rank{Role: strings.ToLower(rank.Role), Index: rank.Index, Rank: rank.Number, World: g.Size(),
				Leader: g.Leader().Host, Port: g.Leader().Port, GPUs: rank.GPUs})
			if diff := cmp.Diff(want, setup.Env); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	}
}

func randomJob(rnd *rand.Rand) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "a"}}
	job.Spec.Framework = v1alpha1.FrameworkPyTorch
	roles := []v1alpha1.Role{"Master", "Worker"}
	if rnd.IntN(2) == 0 {
		job.Spec.Framework = v1alpha1.FrameworkCustom
		roles = []v1alpha1.Role{"Chief", "Scheduler", "Server", "PS", "Worker", "Evaluator"}
	}
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for i, role := range roles {
		if rnd.IntN(2) == 0 && i > 0 {
			continue
		}
		n := rnd.Int32N(4) + 1
		var containers []corev1.Container
		names := []string{"trainer", "pytorch", "a", "b"}
		rnd.Shuffle(4, func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names[:1+rnd.IntN(4)] {
			c := corev1.Container{Name: name}
			ports := []string{"rendezvous", "pytorchjob-port", "http", ""}
			for range rnd.IntN(4) {
				c.Ports = append(c.Ports, corev1.ContainerPort{Name: ports[rnd.IntN(4)], ContainerPort: rnd.Int32N(60000) + 1})
			}
			resources := func() corev1.ResourceList {
				list := corev1.ResourceList{}
				for _, name := range []corev1.ResourceName{"cpu", "nvidia.com/gpu", "amd.com/gpu"} {
					if rnd.IntN(2) == 0 {
						list[name] = resource.MustParse(fmt.Sprint(rnd.IntN(9)))
					}
				}
				return list
			}
			if rnd.IntN(2) == 0 {
				c.Resources.Limits = resources()
			}
			if rnd.IntN(2) == 0 {
				c.Resources.Requests = resources()
			}
			containers = append(containers, c)
		}
		job.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{Replicas: &n, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: containers}}}
	}
	return job
}
