package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestNamesEqualTheAPIs compares names with api/v1alpha1, which this leaf package may not import.
func TestNamesEqualTheAPIs(t *testing.T) {
	cases := map[string]struct{ want, got string }{
		"label of the role": {v1alpha1.LabelKubeflowReplicaType, scheduler.LabelRole},
		"reason NotJudged":  {v1alpha1.ReasonNotJudged, scheduler.ReasonNotJudged},
		"reason WaitingInQueue": {
			v1alpha1.ReasonWaitingInQueue, scheduler.ReasonWaitingInQueue,
		},
		"reason Unschedulable": {
			v1alpha1.ReasonUnschedulable, scheduler.ReasonUnschedulable,
		},
		"reason Terminating": {v1alpha1.ReasonTerminating, scheduler.ReasonTerminating},
		"reason QueueNotFound": {
			v1alpha1.ReasonQueueNotFound, scheduler.ReasonQueueNotFound,
		},
		"reason QueueClosed": {v1alpha1.ReasonQueueClosed, scheduler.ReasonQueueClosed},
		"reason QuotaExceeded": {
			v1alpha1.ReasonQuotaExceeded, scheduler.ReasonQuotaExceeded,
		},
		"reason ExceedsQuota": {v1alpha1.ReasonExceedsQuota, scheduler.ReasonExceedsQuota},
		"reason AdmissionCheckPending": {
			v1alpha1.ReasonAdmissionCheckPending, scheduler.ReasonAdmissionCheckPending,
		},
		"reason NoNodeMatches": {
			v1alpha1.ReasonNoNodeMatches, scheduler.ReasonNoNodeMatches,
		},
		"reason NoNodeLargeEnough": {
			v1alpha1.ReasonNoNodeLargeEnough, scheduler.ReasonNoNodeLargeEnough,
		},
		"reason ExceedsCluster": {
			v1alpha1.ReasonExceedsCluster, scheduler.ReasonExceedsCluster,
		},
		"reason InsufficientResources": {
			v1alpha1.ReasonInsufficientResources, scheduler.ReasonInsufficientResources,
		},
		"reason VolumeUnbound": {
			v1alpha1.ReasonVolumeUnbound, scheduler.ReasonVolumeUnbound,
		},
		"reason WaitingBehind": {
			v1alpha1.ReasonWaitingBehind, scheduler.ReasonWaitingBehind,
		},
		"reason SchedulerRests": {
			v1alpha1.ReasonSchedulerRests, scheduler.ReasonSchedulerRests,
		},
		"no role without a label": {"", roleOf(nil)},
		"role by Kubeflow's lower-case label": {
			"Worker", roleOf(map[string]string{scheduler.LabelRole: "worker"}),
		},
		"role by the API's own spelling": {
			"Master", roleOf(map[string]string{scheduler.LabelRole: "Master"}),
		},
		"a role that this gang lacks: no role": {"", roleOf(map[string]string{scheduler.LabelRole: "ps"})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func roleOf(labels map[string]string) string {
	g := scheduler.Gang{Roles: []scheduler.Role{{Name: "Master"}, {Name: "Worker"}}}
	r, _ := g.RoleOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
	return r.Name
}
