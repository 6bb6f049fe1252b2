package contention

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestClassOf(t *testing.T) {
	never, lower := corev1.PreemptNever, corev1.PreemptLowerPriority
	const notSeconds = "must be a number from 1 to 86400"
	defaults := Class{MaxDelay: time.Minute}
	waits := func(value int32, policy *corev1.PreemptionPolicy) schedulingv1.PriorityClass {
		return schedulingv1.PriorityClass{Value: value, PreemptionPolicy: policy}
	}
	names := map[string]string{v1alpha1.AnnotationWaitingClass: "waits"}
	with := func(key, value string) map[string]string {
		return map[string]string{v1alpha1.AnnotationWaitingClass: "waits", key: value}
	}
	for name, tc := range map[string]struct {
		reason      string
		annotations map[string]string
		others      map[string]schedulingv1.PriorityClass
		want        Class
		problem     string
	}{
		"nothing": {"it has no annotation", nil, nil, defaults, ""},
		"all": {"all annotations apply", map[string]string{
			v1alpha1.AnnotationWaitingClass: "waits", v1alpha1.AnnotationMaxDelay: "30",
			v1alpha1.AnnotationMinRun: "900",
		}, map[string]schedulingv1.PriorityClass{"waits": waits(9, &never)},
			Class{WaitingClass: "waits", MaxDelay: 30 * time.Second, MinRun: 15 * time.Minute}, ""},
		"without a waiting class": {"its minimum run still applies",
			map[string]string{v1alpha1.AnnotationMinRun: "900"}, nil,
			Class{MaxDelay: time.Minute, MinRun: 15 * time.Minute}, ""},
		"none of that name": {"it does not exist", names, nil, defaults,
			"names waits as its waiting class, which does not exist"},
		"of another value": {"it would change the order", names,
			map[string]schedulingv1.PriorityClass{"waits": waits(8, &never)}, defaults,
			"has value 8, not 9"},
		"that preempts": {"the scheduler would not wait", names,
			map[string]schedulingv1.PriorityClass{"waits": waits(9, &lower)}, defaults,
			"does not have preemptionPolicy Never"},
		"that does not say": {"it preempts by default", names,
			map[string]schedulingv1.PriorityClass{"waits": waits(9, nil)}, defaults,
			"does not have preemptionPolicy Never"},
		"no number": {"one invalid annotation disables the waiting class",
			with(v1alpha1.AnnotationMaxDelay, "2m"),
			map[string]schedulingv1.PriorityClass{"waits": waits(9, &never)}, defaults, notSeconds},
		"no time": {"a victim could not save", with(v1alpha1.AnnotationMaxDelay, "0"),
			map[string]schedulingv1.PriorityClass{"waits": waits(9, &never)}, defaults, notSeconds},
		"two days": {"", with(v1alpha1.AnnotationMinRun, "172800"),
			map[string]schedulingv1.PriorityClass{"waits": waits(9, &never)}, defaults, notSeconds},
	} {
		t.Run(name, func(t *testing.T) {
			classes := func(name string) (schedulingv1.PriorityClass, bool) {
				if name == "high" {
					return schedulingv1.PriorityClass{
						ObjectMeta: metav1.ObjectMeta{Name: "high", Annotations: tc.annotations}, Value: 9,
					}, true
				}
				class, known := tc.others[name]
				return class, known
			}
			got, problem := ClassOf("high", classes, defaults)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if (problem == "") != (tc.problem == "") || !strings.Contains(problem, tc.problem) {
				t.Errorf("%s: the problem is %q", tc.reason, problem)
			}
		})
	}
	if got, problem := ClassOf("gone", func(string) (schedulingv1.PriorityClass, bool) {
		return schedulingv1.PriorityClass{}, false
	}, defaults); got != defaults || problem != "" {
		t.Errorf("an unknown class is %+v, %q", got, problem)
	}
}
