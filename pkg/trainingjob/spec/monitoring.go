package spec

import (
	"cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Defaults of spec.monitoring.
const (
	DefaultMetricsPort int32 = 9090
	DefaultMetricsPath       = "/metrics"
)

// Monitoring returns spec.monitoring, or nil if the job exposes no metrics.
func Monitoring(job *v1alpha1.TrainingJob) *v1alpha1.MonitoringSpec {
	if m := job.Spec.Monitoring; m != nil && (m.Enabled == nil || *m.Enabled) {
		return m
	}
	return nil
}

// MetricsPort on which the trainers serve metrics.
func MetricsPort(m *v1alpha1.MonitoringSpec) int32 { return OrDefault(m.Port, DefaultMetricsPort) }

// MetricsPath of the metrics on that port.
func MetricsPath(m *v1alpha1.MonitoringSpec) string { return cmp.Or(m.Path, DefaultMetricsPath) }
