package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var pods = schema.GroupResource{Resource: "pods"}

func overQuota(used int) error {
	return apierrors.NewForbidden(pods, "bert-worker-1",
		fmt.Errorf("exceeded quota: team, requested: pods=1,requests.cpu=2, used: pods=%d, limited: pods=4", used))
}

var podErrors = map[string]struct {
	err    error
	reason string
	says   string
}{
	"quota": {overQuota(4), v1alpha1.ReasonQuotaExceeded,
		"it needs 2 pods; resource quota team of namespace ml has 1 pods free of 4"},
	"larger than it": {apierrors.NewForbidden(pods, "p", errors.New("exceeded quota: g, "+
		"requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=0, "+
		"limited: requests.nvidia.com/gpu=6")),
		v1alpha1.ReasonExceedsQuota,
		"it can never start: it needs 8 nvidia.com/gpu and the limit of resource quota g of namespace ml " +
			"is 6 nvidia.com/gpu"},
	"without numbers": {overQuota(1), v1alpha1.ReasonQuotaExceeded,
		"resource quota team of namespace ml is used up: " +
			"a rank requests pods=1,requests.cpu=2, the limit is pods=4"},
	"priority class": {
		apierrors.NewForbidden(pods, "p", errors.New("no PriorityClass with name high was found")),
		v1alpha1.ReasonPriorityClassNotFound, "priority class high does not exist",
	},
	"invalid": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil),
		v1alpha1.ReasonPodRejected, "is invalid"},
	"timeout":         {apierrors.NewTimeoutError("slow", 1), "", ""},
	"too many":        {apierrors.NewTooManyRequests("later", 1), "", ""},
	"webhook is down": {apierrors.NewInternalError(errors.New("failed calling webhook")), "", ""},
	"quota conflict": {apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "team",
		errors.New("changed")), "", ""},
	"no connection":    {errors.New("connection refused"), "", ""},
	"namespace ending": {terminating(), "", ""},
}

func TestRejectedPod(t *testing.T) {
	gang := scheduler.Gang{
		Name: "bert", Namespace: "ml", MinAvailable: 2,
		MinResources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
	}
	for name, tc := range podErrors {
		t.Run(name, func(t *testing.T) {
			got, rejected := RejectedPod(fmt.Errorf("wrapped: %w", tc.err), gang, 1)
			if rejected != (tc.reason != "") {
				t.Fatalf("rejected = %v", rejected)
			}
			if rejected &&
				(got.Blocker.Reason != tc.reason || !strings.Contains(got.Blocker.Message, tc.says) ||
					got.Blocker.NextStep == "" || !got.GiveBack) {
				t.Errorf("got %+v", got)
			}
		})
	}
	a, _ := RejectedPod(overQuota(3), gang, 0)
	b, _ := RejectedPod(overQuota(4), gang, 0)
	if a.Blocker.Reason != b.Blocker.Reason || a.Blocker.Object != b.Blocker.Object {
		t.Errorf("what is used changes all the time and is no other reason:\n%+v\n%+v", a.Blocker, b.Blocker)
	}
}

func terminating() error {
	err := apierrors.NewForbidden(pods, "p", errors.New("because it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
