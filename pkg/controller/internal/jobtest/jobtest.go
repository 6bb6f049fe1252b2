// Package jobtest has a job for the tests of the controller's packages.
package jobtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Start is when the clocks of the tests start.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Name of the job that Bert returns.
var Name = types.NamespacedName{Namespace: "default", Name: "bert"}

// Bert is a job of n ranks for the native scheduler.
func Bert(n int32) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: Name.Name, Namespace: Name.Namespace, UID: "uid-bert", Generation: 1},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer", Command: []string{"train"}, Replicas: &n,
		},
	}
}

// Counted returns what a registry has counted of jobs, by name and labels: the values of counters that are
// not zero, and the sums of histograms with observations. What the operator did for it is left out.
func Counted(t testing.TB, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "trainingjob_operator_") || strings.Contains(f.GetName(), "_pods_") ||
			f.GetName() == "trainingjob_status_writes_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := fmt.Sprintf("%s%v", strings.TrimPrefix(f.GetName(), "trainingjob_"), labels)
			if v := m.GetCounter().GetValue(); v != 0 {
				counts[name] = v
			}
			if h := m.GetHistogram(); h.GetSampleCount() > 0 {
				counts[name] = h.GetSampleSum()
			}
		}
	}
	return counts
}
