package volcano_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

func TestMayPreempt(t *testing.T) {
	const key = "volcano.sh/preemptable"
	pods := func(labels, annotations map[string]string) []*corev1.Pod {
		return []*corev1.Pod{{}, {ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}}}
	}
	for name, tc := range map[string]struct {
		reason           string
		waiting, running string
		pods             []*corev1.Pod
		want             bool
	}{
		"of its queue":        {"preempt looks into one queue", "research", "research", nil, true},
		"of another queue":    {"reclaim ignores priorities", "research", "product", nil, false},
		"of the default":      {"no queue means the queue default", "", "default", pods(nil, nil), true},
		"preemptable":         {"as without", "", "", pods(nil, map[string]string{key: "true"}), true},
		"not preemptable":     {"one rank is enough", "", "", pods(nil, map[string]string{key: "false"}), false},
		"not, by its label":   {"", "", "", pods(map[string]string{key: "false"}, nil), false},
		"annotation outranks": {"", "", "", pods(map[string]string{key: "0"}, map[string]string{key: "1"}), true},
		"misspelt":            {"Volcano exempts it, too", "", "", pods(nil, map[string]string{key: "no"}), false},
	} {
		t.Run(name, func(t *testing.T) {
			var b scheduler.Preemptor = volcano.New(volcano.DefaultOptions())
			waiting := scheduler.Contender{Queue: tc.waiting}
			if got := b.MayPreempt(waiting, scheduler.Contender{Queue: tc.running, Pods: tc.pods}); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}
