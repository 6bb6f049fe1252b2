package render

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// metricsPort is the name of the trainer's port for metrics. No framework uses it.
const metricsPort = "tj-metrics"

// PodMonitorKind is the Prometheus Operator's (api/monitoring.coreos.com/v1, prometheus-operator v0.90).
var PodMonitorKind = schema.GroupVersionKind{
	Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor",
}

// addMetrics adds the annotations with which Prometheus finds a rank's metrics, and names the port for
// PodMonitors. It keeps the user's annotations.
func addMetrics(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	m := spec.Monitoring(job)
	if m == nil {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	for key, value := range map[string]string{
		"prometheus.io/scrape": "true",
		"prometheus.io/port":   fmt.Sprint(spec.MetricsPort(m)),
		"prometheus.io/path":   spec.MetricsPath(m),
	} {
		if _, set := pod.Annotations[key]; !set {
			pod.Annotations[key] = value
		}
	}
	named := func(p corev1.ContainerPort) bool { return p.Name == metricsPort }
	for _, c := range pod.Spec.Containers {
		if slices.ContainsFunc(c.Ports, named) {
			return // a pod has every name of a port once
		}
	}
	trainer := spec.Framework(job).Trainer(&pod.Spec)
	trainer.Ports = append(trainer.Ports, corev1.ContainerPort{
		Name: metricsPort, ContainerPort: spec.MetricsPort(m), Protocol: corev1.ProtocolTCP,
	})
}

// PodMonitor returns the object with which the Prometheus Operator scrapes the ranks of a job; nil for a job
// without metrics. Its series have the role and the index of the rank.
func PodMonitor(job *v1alpha1.TrainingJob) *unstructured.Unstructured {
	m := spec.Monitoring(job)
	if m == nil {
		return nil
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{v1alpha1.LabelJobName: job.Name}},
		"podTargetLabels": []any{
			v1alpha1.LabelJobName, v1alpha1.LabelKubeflowReplicaType, v1alpha1.LabelKubeflowReplicaIndex,
		},
		"podMetricsEndpoints": []any{map[string]any{"port": metricsPort, "path": spec.MetricsPath(m)}},
	}}}
	object.SetGroupVersionKind(PodMonitorKind)
	object.SetName(job.Name)
	object.SetNamespace(job.Namespace)
	object.SetLabels(map[string]string{v1alpha1.LabelJobName: job.Name})
	object.SetOwnerReferences([]metav1.OwnerReference{Owner(job)})
	return object
}
