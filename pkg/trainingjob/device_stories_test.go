package trainingjob

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// The GPUs of gangs whose ranks claim them by dynamic resource allocation.
var deviceStories = map[string]story{
	"gpus-of-a-template": {jobtest.New(3, jobtest.Roles, claimsFour), func(sim *simulation) {
		sim.claim(scheduler.DeviceRequest{Classes: []string{"gpu.nvidia.com"}, Count: 4})
		sim.narrate("the user applies a job whose ranks claim 4 GPUs each")
		sim.logGPUs()
	}},
	"gpus-of-a-late-template": {jobtest.New(3, jobtest.Roles, claimsFour), func(sim *simulation) {
		sim.devices.Claims = map[render.ClaimRef]render.DeviceClaim{fourGPUs: {Problem: "does not exist"}}
		sim.narrate("the user applies a job before its template of claims")
		sim.logGPUs()
		sim.claim(scheduler.DeviceRequest{Classes: []string{"gpu.nvidia.com"}, Count: 4})
		sim.narrate("the user applies the template")
		sim.logGPUs()
		sim.devices.Claims = nil
		sim.narrate("a new operator has not listed the templates yet, and keeps the number")
		sim.logGPUs()
	}},
	"gpus-of-all-devices": {jobtest.New(3, jobtest.Roles, claimsFour), func(sim *simulation) {
		sim.claim(scheduler.DeviceRequest{Classes: []string{"gpu.nvidia.com"}, Unknown: "allocationMode All"})
		sim.narrate("the user applies a job whose ranks claim all GPUs of their node")
		sim.logGPUs()
	}},
	"channels-without-a-domain": {jobtest.New(3, jobtest.Roles, claimsFour), func(sim *simulation) {
		sim.claim(scheduler.DeviceRequest{Classes: []string{render.ChannelClass}, Count: 1})
		sim.narrate("the user applies a job whose ranks claim channels of a ComputeDomain")
		sim.logGPUs()
	}},
}

var fourGPUs = render.ClaimRef{Template: true, Name: "four-gpus"}

// claimsFour lets the Master and each Worker have a claim from the template four-gpus.
func claimsFour(j *v1alpha1.TrainingJob) {
	for role, s := range j.Spec.ReplicaSpecs {
		s.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{
			{Name: "gpus", ResourceClaimTemplateName: &fourGPUs.Name},
		}
		j.Spec.ReplicaSpecs[role] = s
	}
}

// claim sets what the template four-gpus requests.
func (sim *simulation) claim(requests ...scheduler.DeviceRequest) {
	sim.devices = render.Devices{
		GPUClasses: framework.DefaultGPUDeviceClasses(),
		Claims:     map[render.ClaimRef]render.DeviceClaim{fourGPUs: {Requests: requests}},
	}
}

// logGPUs logs the GPUs in the status.
func (sim *simulation) logGPUs() {
	st := sim.job.Status
	sim.logf("= gpus %d, unknown %q", st.GPUs, st.GPUsUnknown)
}
