package controller

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// claimingBert has 2 ranks with a claim each from the template four-gpus, or with one shared claim of that
// name.
func claimingBert(shared bool) *v1alpha1.TrainingJob {
	job := bert(2)
	claim := corev1.PodResourceClaim{Name: "gpus", ResourceClaimTemplateName: new("four-gpus")}
	if shared {
		claim = corev1.PodResourceClaim{Name: "gpus", ResourceClaimName: new("four-gpus")}
	}
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
		Replicas: job.Spec.Replicas,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{claim},
			Containers: []corev1.Container{{
				Name: "pytorch", Image: job.Spec.Image, Command: []string{"python", "train.py"},
			}},
		}},
	}}
	job.Spec.Image, job.Spec.Command, job.Spec.Replicas = "", nil, nil
	job.Spec.Resources = corev1.ResourceRequirements{}
	return job
}

func fourGPUs() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com", Count: 4},
	}}}}
}

// followDevices lets a state follow the kinds of devices, as where the cluster serves them.
func followDevices(t *testing.T, c *clusterstate.Cluster) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(clusterstate.DeviceClassKind, meta.RESTScopeRoot)
	mapper.Add(clusterstate.ClaimTemplateKind, meta.RESTScopeNamespace)
	sources := clusterstate.NewSources(c, fake.NewClientBuilder().WithRESTMapper(mapper).Build(), func() {})
	for _, gvk := range clusterstate.DeviceKinds {
		if err := sources.FollowDevices(gvk); err != nil {
			t.Fatal(err)
		}
	}
	c.SetDeviceClasses(nil)
}

func TestGPUsOfClaims(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: bert(1).Namespace, Name: "four-gpus"}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: meta}
	template.Spec.Spec = fourGPUs()
	for name, tc := range map[string]struct {
		shared, served bool
		apply          func(*fixture, *clusterstate.Cluster)
		first, then    string
	}{
		"a template": {
			served: true, first: "ResourceClaimTemplate four-gpus does not exist", then: "8",
			apply: func(_ *fixture, c *clusterstate.Cluster) { c.SetClaimTemplate(template) },
		},
		"a shared claim": {
			shared: true, served: true, first: "ResourceClaim four-gpus does not exist", then: "4",
			apply: func(f *fixture, _ *clusterstate.Cluster) {
				if err := f.store.Create(t.Context(),
					&resourcev1.ResourceClaim{ObjectMeta: meta, Spec: fourGPUs()}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"a cluster without DRA": {
			first: "ResourceClaimTemplate four-gpus is not known: the cluster does not serve resource.k8s.io/v1",
			then:  "ResourceClaimTemplate four-gpus is not known: the cluster does not serve resource.k8s.io/v1",
			apply: func(*fixture, *clusterstate.Cluster) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, claimingBert(tc.shared))
			f.options.GPUDeviceClasses = framework.DefaultGPUDeviceClasses()
			state := f.withNodes(backends.NodeAutoscalerAbsent, "8")
			if tc.served {
				followDevices(t, state)
				state.SetClaimTemplates("", nil)
			}
			f.r.states.Now = f.clock.Now
			check := func(want string) {
				t.Helper()
				for range 4 {
					f.sync()
					if _, _, err := f.reconcile(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				st := f.job().Status
				got := st.GPUsUnknown
				if got == "" {
					got = fmt.Sprint(st.GPUs)
				}
				if got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			check(tc.first)
			tc.apply(f, state)
			f.clock.Step(time.Minute)
			check(tc.then)
		})
	}
}
