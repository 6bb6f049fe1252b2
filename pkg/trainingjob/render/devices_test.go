package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// claiming lets the ranks of a role have claims from these templates, and share these claims.
func claiming(j *v1alpha1.TrainingJob, role v1alpha1.Role, templates, shared []string) {
	s := j.Spec.ReplicaSpecs[role]
	s.Template = *s.Template.DeepCopy()
	for _, name := range templates {
		s.Template.Spec.ResourceClaims = append(s.Template.Spec.ResourceClaims,
			corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &name})
	}
	for _, name := range shared {
		s.Template.Spec.ResourceClaims = append(s.Template.Spec.ResourceClaims,
			corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	}
	j.Spec.ReplicaSpecs[role] = s
}

func exactly(class string, count int64) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
	}}
}

func claimOf(requests ...resourcev1.DeviceRequest) DeviceClaim {
	return DeviceClaim{Requests: scheduler.DeviceRequestsOf(&resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: requests},
	})}
}

func TestDeviceGPUs(t *testing.T) {
	const gpu = "gpu.nvidia.com"
	all, admin := exactly(gpu, 0), exactly(gpu, 1)
	all.Exactly.AllocationMode, admin.Exactly.AdminAccess = resourcev1.DeviceAllocationModeAll, new(true)
	first := resourcev1.DeviceRequest{FirstAvailable: []resourcev1.DeviceSubRequest{
		{DeviceClassName: "large.example.com", Count: 1}, {DeviceClassName: gpu, Count: 2},
	}}
	other := resourcev1.DeviceRequest{FirstAvailable: []resourcev1.DeviceSubRequest{{DeviceClassName: "nic"}}}
	allNICs := exactly("nic", 0)
	allNICs.Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
	for name, tc := range map[string]struct {
		reason            string
		templates, shared []string // of the Workers, of which there are 2, with 1 Master
		claim             DeviceClaim
		want              int64
		unknown           string
	}{
		"none":       {reason: "nothing is claimed", claim: claimOf(exactly(gpu, 4))},
		"a template": {reason: "4 x 2 ranks", templates: []string{"c"}, claim: claimOf(exactly(gpu, 4)), want: 8},
		"by default": {"1 of the class", []string{"c"}, nil, claimOf(exactly(gpu, 0)), 2, ""},
		"two requests": {
			"a claim has several", []string{"c"}, nil, claimOf(exactly(gpu, 4), exactly(gpu, 2)), 12, "",
		},
		"twice": {
			"a rank gets a claim for each of its entries", []string{"c", "c"}, nil, claimOf(exactly(gpu, 2)), 8, "",
		},
		"shared":       {"once per gang", nil, []string{"c"}, claimOf(exactly(gpu, 4)), 4, ""},
		"shared twice": {"once per gang", nil, []string{"c", "c"}, claimOf(exactly(gpu, 4)), 4, ""},
		"no GPUs": {
			"only the classes that the configuration names", []string{"c"}, nil,
			claimOf(exactly("nic", 4), allNICs, other), 0, "",
		},
		"All": {
			"the number of devices depends on the node", []string{"c"}, nil, claimOf(exactly(gpu, 4), all), 0,
			"ResourceClaimTemplate c has a request for GPUs with allocationMode All",
		},
		"firstAvailable": {
			"the alternatives differ", []string{"c"}, nil, claimOf(first), 0,
			"ResourceClaimTemplate c has a request for GPUs with firstAvailable",
		},
		"adminAccess": {
			"others use these devices", nil, []string{"c"}, claimOf(admin), 0,
			"ResourceClaim c has a request for GPUs with adminAccess",
		},
		"missing": {
			"it is never 0", []string{"c"}, nil, DeviceClaim{Problem: "does not exist"}, 0,
			"ResourceClaimTemplate c does not exist",
		},
		"not read": {
			"after a start of the operator", []string{"d"}, nil, DeviceClaim{}, 0,
			"ResourceClaimTemplate d has not been read yet",
		},
		"very many": {
			"a user wrote it", []string{"c", "c", "c"}, nil, claimOf(exactly(gpu, 1<<62), exactly(gpu, 1<<62)),
			1<<31 - 1, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobtest.New(3, jobtest.Roles)
			claiming(job, v1alpha1.RoleWorker, tc.templates, tc.shared)
			if len(tc.shared) > 0 {
				claiming(job, v1alpha1.RoleMaster, nil, tc.shared)
			}
			d := Devices{GPUClasses: framework.DefaultGPUDeviceClasses(), Claims: map[ClaimRef]DeviceClaim{
				{Template: true, Name: "c"}: tc.claim, {Name: "c"}: tc.claim,
			}}
			if n, unknown := d.GPUs(job); n != tc.want || unknown != tc.unknown {
				t.Errorf("%s: %d, %q, want %d, %q", tc.reason, n, unknown, tc.want, tc.unknown)
			}
		})
	}
}

// A resource that is named after a device class is served by that class.
func TestGPUsNamedAfterClass(t *testing.T) {
	job := jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.Resources = jobtest.Requests("deviceclass.resource.kubernetes.io/gpu.amd.com", "4")
	})
	d := Devices{GPUClasses: framework.DefaultGPUDeviceClasses()}
	if n, unknown := d.GPUs(job); n != 12 || unknown != "" {
		t.Errorf("%d, %q", n, unknown)
	}
}
