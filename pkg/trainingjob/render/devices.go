package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Devices are what the ranks of a job request by dynamic resource allocation.
type Devices struct {
	// GPUClasses are the device classes whose devices count as GPUs.
	GPUClasses []string
	// Claims that the ranks name. One that is missing has not been read yet.
	Claims map[ClaimRef]DeviceClaim
}

// ClaimRef names a ResourceClaimTemplate, from which each rank gets a claim, or a ResourceClaim, which all
// ranks share.
type ClaimRef struct {
	Template bool
	Name     string
}

func (r ClaimRef) String() string {
	if r.Template {
		return "ResourceClaimTemplate " + r.Name
	}
	return "ResourceClaim " + r.Name
}

// DeviceClaim is what a claim or template requests. Problem is why that is not known, with the claim as its
// subject; empty: it is known.
type DeviceClaim struct {
	Requests []scheduler.DeviceRequest
	Problem  string
}

// ClaimRefs returns the claims and the templates of claims that the ranks name, by role.
func ClaimRefs(job *v1alpha1.TrainingJob) []ClaimRef {
	var refs []ClaimRef
	for _, role := range spec.Roles(job) {
		refs = append(refs, claimRefs(role)...)
	}
	return refs
}

func claimRefs(role spec.Role) []ClaimRef {
	var refs []ClaimRef
	for _, c := range role.Template.Spec.ResourceClaims {
		switch {
		case c.ResourceClaimTemplateName != nil:
			refs = append(refs, ClaimRef{Template: true, Name: *c.ResourceClaimTemplateName})
		case c.ResourceClaimName != nil:
			refs = append(refs, ClaimRef{Name: *c.ResourceClaimName})
		}
	}
	return refs
}

// GPUs returns how many GPUs all ranks of the job request by device classes: in claims, of which a shared one
// counts once, and by resources that are named after a class. If the number is not known, unknown is why.
func (d Devices) GPUs(job *v1alpha1.TrainingJob) (n int64, unknown string) {
	shared := map[ClaimRef]bool{}
	for _, role := range spec.Roles(job) {
		if role.Replicas == 0 {
			continue
		}
		for _, ref := range claimRefs(role) {
			if shared[ref] {
				continue
			}
			shared[ref] = !ref.Template
			gpus, unknown := d.gpusOf(ref)
			if unknown != "" {
				return 0, unknown
			}
			if ref.Template {
				gpus *= int64(role.Replicas)
			}
			n = min(n+gpus, math.MaxInt32)
		}
		n = min(n+d.named(job, role)*int64(role.Replicas), math.MaxInt32)
	}
	return n, ""
}

// gpusOf returns the GPUs of one claim.
func (d Devices) gpusOf(ref ClaimRef) (n int64, unknown string) {
	claim, read := d.Claims[ref]
	if !read {
		claim.Problem = "has not been read yet"
	}
	if claim.Problem != "" {
		return 0, fmt.Sprintf("%s %s", ref, claim.Problem)
	}
	for _, r := range claim.Requests {
		if !slices.ContainsFunc(r.Classes, d.isGPU) {
			continue
		}
		if r.Unknown != "" {
			return 0, fmt.Sprintf("%s has a request for GPUs with %s", ref, r.Unknown)
		}
		n = min(n+r.Count, math.MaxInt32)
	}
	return n, ""
}

func (d Devices) isGPU(class string) bool { return slices.Contains(d.GPUClasses, class) }

// named returns the GPUs that one rank requests by resources that are named after a device class.
func (d Devices) named(job *v1alpha1.TrainingJob, role spec.Role) (n int64) {
	for name, q := range scheduler.RequestsOf(&roleTemplate(job, role).Spec) {
		class, ok := strings.CutPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)
		if ok && d.isGPU(class) {
			n += min(q.Value(), math.MaxInt32)
		}
	}
	return n
}

// ChannelClass is the class of the devices by which NVIDIA's ComputeDomains connect the nodes of an NVLink
// domain (resource.nvidia.com, DRA driver for GPUs 25.12).
const ChannelClass = "compute-domain-default-channel.nvidia.com"

// SpansDomains returns a claim for a channel of a ComputeDomain, if nothing keeps the job's ranks within one
// NVLink domain.
func (d Devices) SpansDomains(job *v1alpha1.TrainingJob) (ClaimRef, bool) {
	if spec.Within(job) != "" {
		return ClaimRef{}, false
	}
	for _, ref := range ClaimRefs(job) {
		for _, r := range d.Claims[ref].Requests {
			if slices.Contains(r.Classes, ChannelClass) {
				return ref, true
			}
		}
	}
	return ClaimRef{}, false
}
