package scheduler

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Dynamic resource allocation (DRA): a DeviceClass can serve an extended resource, which then is on no node.
// Which devices are free follows from ResourceSlices, claims and CEL expressions, and is for the scheduler to
// find out. kube-scheduler uses the device plugin of a node that has one, and DRA on all other nodes
// (plugins/noderesources, shouldDelegateResourceToDRA).

// DeviceClassOf returns the DeviceClass that serves an extended resource: the one whose extendedResourceName
// it is, or the one that the resource is named after, which need not exist.
func (s ClusterState) DeviceClassOf(name corev1.ResourceName) (string, bool) {
	if class, ok := strings.CutPrefix(string(name), resourcev1.ResourceDeviceClassPrefix); ok {
		return class, true
	}
	class, ok := s.DeviceClasses[name]
	return class, ok
}

// KnowsCapacity reports whether the nodes show how much there is of all that the gang requests.
func (s ClusterState) KnowsCapacity(g Gang) bool {
	for _, role := range g.Roles {
		if role.Template == nil {
			continue
		}
		if _, devices := s.split(role.Requests()); len(devices) > 0 {
			return false
		}
	}
	return true
}

// split returns the requests that the nodes show, and those that a DeviceClass serves; nil: none.
func (s ClusterState) split(requests Amounts) (onNodes, devices Amounts) {
	onNodes = make(Amounts, len(requests))
	for name, amount := range requests {
		if _, served := s.DeviceClassOf(name); !served {
			onNodes[name] = amount
			continue
		}
		if devices == nil {
			devices = Amounts{}
		}
		devices[name] = amount
	}
	return onNodes, devices
}

// devicesUnknown explains that the nodes have all else, and that only the scheduler knows which devices are
// free. Until it has tried the gang, others before it are the better reason.
func devicesUnknown(w *waitingGang) (Explanation, bool) {
	tried := w.verdict.Reason == ReasonUnschedulable
	if !tried && (w.verdict.Reason != "" || w.cluster.Ahead.Count > 0) {
		return Explanation{}, false
	}
	devices := Amounts{}
	for _, r := range w.roles {
		for name, amount := range r.devices {
			devices[name] += r.unbound * amount
		}
	}
	name := mostImportant(devices)
	class, served := w.cluster.DeviceClassOf(name)
	if !served {
		return Explanation{}, false
	}
	e := Explanation{
		Reason: ReasonUnschedulable,
		Message: fmt.Sprintf("needs %s; devices of class %s serve it: how many are free is not known",
			FormatAmount(name, devices[name]), class),
		NextStep: "see the devices of the nodes (kubectl get resourceslices) and who holds them " +
			"(kubectl get resourceclaims -A)",
		Need: resourceList(name, devices[name]),
	}
	if tried {
		e.Message += fmt.Sprintf("; %s reported when it last tried: %s", w.backend.Name(), w.verdict.Message)
		e.NextStep = w.verdict.NextStep
	}
	return e, true
}

// DeviceRequest is one request for devices in a ResourceClaim or its template.
type DeviceRequest struct {
	// Classes that the devices can have: one, or that of each alternative.
	Classes []string
	// Count of the devices, if Unknown is empty. Otherwise Unknown says why only the allocation shows it.
	Count   int64
	Unknown string
}

// DeviceRequestsOf returns the requests of a claim. A field that is missing has the API server's default.
func DeviceRequestsOf(claim *resourcev1.ResourceClaimSpec) []DeviceRequest {
	requests := make([]DeviceRequest, 0, len(claim.Devices.Requests))
	for _, r := range claim.Devices.Requests {
		requests = append(requests, deviceRequestOf(r))
	}
	return requests
}

func deviceRequestOf(r resourcev1.DeviceRequest) DeviceRequest {
	if r.Exactly == nil {
		request := DeviceRequest{Unknown: "firstAvailable"}
		for _, alternative := range r.FirstAvailable {
			request.Classes = append(request.Classes, strings.Clone(alternative.DeviceClassName))
		}
		return request
	}
	request := DeviceRequest{Classes: []string{strings.Clone(r.Exactly.DeviceClassName)}}
	switch mode := r.Exactly.AllocationMode; {
	case r.Exactly.AdminAccess != nil && *r.Exactly.AdminAccess:
		request.Unknown = "adminAccess"
	case mode == "" || mode == resourcev1.DeviceAllocationModeExactCount:
		request.Count = min(max(1, r.Exactly.Count), math.MaxInt32)
	default:
		request.Unknown = fmt.Sprintf("allocationMode %.20s", mode)
	}
	return request
}
