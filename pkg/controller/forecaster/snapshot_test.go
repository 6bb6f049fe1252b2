package forecaster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// TestUnknown: what keeps the start of a gang from being computed.
func TestUnknown(t *testing.T) {
	blocked := func(reason, object string) func(*candidate) {
		return func(c *candidate) {
			c.job.Status.Scheduling = &v1alpha1.SchedulingStatus{
				Blocker: &v1alpha1.Blocker{Reason: reason, Object: object},
			}
		}
	}
	limited := func(l scheduler.QueueLimit) func(*candidate) {
		return func(c *candidate) { c.queue.limits = []scheduler.QueueLimit{l} }
	}
	for name, tc := range map[string]struct {
		edit func(*candidate)
		want forecast.Unknown
	}{
		"nothing":               {func(*candidate) {}, ""},
		"a lack of nodes":       {blocked(v1alpha1.ReasonInsufficientResources, ""), ""},
		"no backend":            {func(c *candidate) { c.backend = nil }, forecast.QueueUnknown},
		"an unknown queue":      {func(c *candidate) { c.queue.known = false }, forecast.QueueUnknown},
		"a closed queue":        {blocked(v1alpha1.ReasonQueueClosed, ""), forecast.QueueUnknown},
		"an unlimited quota":    {blocked(v1alpha1.ReasonQuotaExceeded, "queues/a"), forecast.QueueUnknown},
		"an admission check":    {blocked(v1alpha1.ReasonAdmissionCheckPending, ""), forecast.SchedulerDecides},
		"devices":               {func(c *candidate) { c.devices = true }, forecast.SchedulerDecides},
		"a queue that reclaims": {limited(scheduler.QueueLimit{Reclaims: true}), forecast.SchedulerDecides},
		"a queue that borrows":  {limited(scheduler.QueueLimit{Lends: true}), forecast.SchedulerDecides},
		"a ResourceQuota": {func(c *candidate) {
			limited(scheduler.QueueLimit{})(c)
			blocked(v1alpha1.ReasonQuotaExceeded, "resourcequotas/compute")(c)
		}, forecast.QueueUnknown},
		"the queue's quota": {func(c *candidate) {
			limited(scheduler.QueueLimit{})(c)
			blocked(v1alpha1.ReasonQuotaExceeded, "queues/a")(c)
		}, ""},
		"one domain": {func(c *candidate) {
			c.job.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{
				Mode: v1alpha1.TopologyWithin, Key: "rack",
			}
		}, forecast.SchedulerDecides},
	} {
		t.Run(name, func(t *testing.T) {
			c := &candidate{
				job: job("a", nil), backend: native.New(native.Options{}), queue: &queue{known: true},
			}
			tc.edit(c)
			quotas := []forecast.Quota{{Free: forecast.Amounts{8}, Limited: [forecast.MaxResources]bool{true}}}
			g := &forecast.Gang{Uses: []forecast.Use{{Quota: 0, Amounts: forecast.Amounts{16}}}}
			if got := c.unknown(g, quotas); got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLendingQueue: a gang within what is free of the quota does not borrow.
func TestLendingQueue(t *testing.T) {
	c := &candidate{
		job: job("a", nil), backend: native.New(native.Options{}),
		queue: &queue{known: true, limits: []scheduler.QueueLimit{{Lends: true}}},
	}
	quotas := []forecast.Quota{{Free: forecast.Amounts{8, 0}, Limited: [forecast.MaxResources]bool{true}}}
	for gpus, want := range map[int64]forecast.Unknown{8: "", 9: forecast.SchedulerDecides} {
		g := &forecast.Gang{Uses: []forecast.Use{{Amounts: forecast.Amounts{gpus, 99}}}}
		if got := c.unknown(g, quotas); got != want {
			t.Errorf("with %d GPUs it is %q, want %q", gpus, got, want)
		}
	}
}

func TestRequestsDevices(t *testing.T) {
	template := &corev1.PodTemplateSpec{}
	gang := scheduler.Gang{Roles: []scheduler.Role{{Name: "worker"}, {Name: "ps", Template: template}}}
	if requestsDevices(gang, scheduler.ClusterState{}) {
		t.Error("it requests none")
	}
	served := scheduler.ClusterState{DeviceClasses: map[corev1.ResourceName]string{corev1.ResourcePods: "class"}}
	if !requestsDevices(gang, served) {
		t.Error("a DeviceClass serves what it requests")
	}
	template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	if !requestsDevices(gang, scheduler.ClusterState{}) {
		t.Error("it claims a device")
	}
}
