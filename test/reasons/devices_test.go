//go:build cluster

package reasons

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestResourceOfDeviceClass: no node has the resource that a DeviceClass serves. Kubernetes' scheduler places
// the gang once there are devices.
func TestResourceOfDeviceClass(t *testing.T) {
	t.Parallel()
	p := newFixture(t, onNative, 2)
	name := corev1.ResourceName("example.com/" + p.Name)
	p.deviceClass(p.Name, func(c *resourcev1.DeviceClass) { c.Spec.ExtendedResourceName = new(string(name)) })
	p.Job("bert", 2, "1", func(j *v1alpha1.TrainingJob) {
		j.Spec.Resources.Requests = corev1.ResourceList{name: resource.MustParse("4")}
	})
	b := p.Says("bert", v1alpha1.ReasonUnschedulable)
	want := fmt.Sprintf("needs 8 %s; devices of class %s serve it: how many are free is not known; native "+
		"reported when it last tried: ", name, p.Name)
	if !strings.HasPrefix(b.Message, want) || strings.Contains(b.Message, "never") {
		t.Errorf("%q does not begin with %q", b.Message, want)
	}
	p.devices(2, 4)
	p.Reaches("bert", v1alpha1.PhaseRunning)
}

// TestGPUsOfTemplate: a template of claims that appears after its job is counted, and the gang is placed.
func TestGPUsOfTemplate(t *testing.T) {
	t.Parallel()
	p := newFixture(t, onNative, 2)
	p.deviceClass("gpu.nvidia.com")
	p.devices(2, 4)
	p.Job("bert", 2, "0", func(j *v1alpha1.TrainingJob) {
		trainer := corev1.Container{
			Name: "trainer", Image: j.Spec.Image, Command: j.Spec.Command,
			Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus"}}},
		}
		pod := corev1.PodSpec{
			NodeSelector: j.Spec.NodeSelector, Tolerations: j.Spec.Tolerations,
			Containers: []corev1.Container{trainer},
			ResourceClaims: []corev1.PodResourceClaim{
				{Name: "gpus", ResourceClaimTemplateName: new("four-gpus")},
			},
		}
		policy := j.Spec.RunPolicy
		j.Spec = v1alpha1.TrainingJobSpec{
			Framework: j.Spec.Framework, RunPolicy: policy,
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
				Replicas: j.Spec.Replicas, Template: corev1.PodTemplateSpec{Spec: pod},
			}},
		}
	})
	p.counts(0, "ResourceClaimTemplate four-gpus does not exist")
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "four-gpus"},
	}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com", Count: 4},
	}}
	p.Create(template)
	p.counts(8, "")
	p.Reaches("bert", v1alpha1.PhaseRunning)
}

// counts waits for the GPUs in the status of bert.
func (p *fixture) counts(gpus int64, unknown string) {
	p.T.Helper()
	p.Until("its GPUs are counted", func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, "bert")
		if err != nil || j.Status.GPUs == gpus && j.Status.GPUsUnknown == unknown && j.Status.Attempt > 0 {
			return "", err
		}
		return fmt.Sprintf("%d, %q", j.Status.GPUs, j.Status.GPUsUnknown), nil
	})
}

// driver that publishes the devices of the namespace's nodes.
func (p *fixture) driver() string { return p.Name + ".example.com" }

// deviceClass makes a class of the namespace's devices.
func (p *fixture) deviceClass(name string, edit ...func(*resourcev1.DeviceClass)) {
	p.T.Helper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
		Expression: fmt.Sprintf("device.driver == %q", p.driver()),
	}}}
	for _, e := range edit {
		e(class)
	}
	p.Create(class)
	p.deleteAtEnd(class)
}

// devices publishes so many devices for each of the namespace's nodes.
func (p *fixture) devices(nodes, each int) {
	p.T.Helper()
	for i := range nodes {
		node := fmt.Sprintf("%s-%d", p.Name, i)
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: p.driver(), NodeName: &node,
				Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
			},
		}
		for k := range each {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k)})
		}
		p.Create(slice)
		p.deleteAtEnd(slice)
	}
}

func (p *fixture) deleteAtEnd(o client.Object) {
	p.T.Cleanup(func() {
		if err := p.Client.Delete(context.Background(), o); err != nil {
			p.T.Error(err)
		}
	})
}
