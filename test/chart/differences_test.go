package chart

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// difference is one that the chart may have from kustomize. It changes an object of either so that the two no
// longer differ in it, and reports whether there was anything to change; dropped: the object goes.
type difference struct {
	reason string
	apply  func(o *unstructured.Unstructured) (changed, dropped bool)
}

var helmLabels = []string{
	"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version",
	"app.kubernetes.io/managed-by", "helm.sh/chart",
}

// differences of every rendering.
var differences = []difference{
	{"Helm and its users find objects by these labels", func(o *unstructured.Unstructured) (bool, bool) {
		labels, changed := o.GetLabels(), false
		for _, key := range helmLabels {
			if _, has := labels[key]; has {
				delete(labels, key)
				changed = true
			}
		}
		if len(labels) == 0 {
			labels = nil
		}
		o.SetLabels(labels)
		return changed, false
	}},
	{"helm install --create-namespace makes it", func(o *unstructured.Unstructured) (bool, bool) {
		return o.GetKind() == "Namespace", o.GetKind() == "Namespace"
	}},
	{"helm test runs it; nothing of it is installed", func(o *unstructured.Unstructured) (bool, bool) {
		hook := o.GetAnnotations()["helm.sh/hook"] != ""
		return hook, hook
	}},
	{"the CRD stays when the chart is uninstalled", func(o *unstructured.Unstructured) (bool, bool) {
		return o.GetKind() == "CustomResourceDefinition" && dropAnnotation(o, "helm.sh/resource-policy"), false
	}},
	{"the operator reads its configuration when it starts: another one must start it",
		func(o *unstructured.Unstructured) (bool, bool) {
			if o.GetKind() != "Deployment" {
				return false, false
			}
			at := []string{"spec", "template", "metadata", "annotations"}
			annotations, _, _ := unstructured.NestedMap(o.Object, at...)
			_, changed := annotations["checksum/config"]
			unstructured.RemoveNestedField(o.Object, append(at, "checksum/config")...)
			if len(annotations) == 1 && changed {
				unstructured.RemoveNestedField(o.Object, at...)
			}
			return changed, false
		}},
	{"the ServiceMonitor must not find the reports' Service", func(o *unstructured.Unstructured) (bool, bool) {
		labels := o.GetLabels()
		_, changed := labels["app.kubernetes.io/component"]
		delete(labels, "app.kubernetes.io/component")
		if len(labels) == 0 {
			labels = nil
		}
		o.SetLabels(labels)
		return changed, false
	}},
	{"it is compared as a configuration, not as a text", func(o *unstructured.Unstructured) (bool, bool) {
		if o.GetKind() != "ConfigMap" ||
			o.GetName() != "trainingjob-operator" && o.GetName() != "trainingjob-server" {
			return false, false
		}
		unstructured.RemoveNestedField(o.Object, "data", "config.yaml")
		return true, false
	}},
}

// withVolume are further differences where the server has a volume.
var withVolume = []difference{
	{"the history stays when the chart is uninstalled", func(o *unstructured.Unstructured) (bool, bool) {
		return o.GetKind() == "PersistentVolumeClaim" && dropAnnotation(o, "helm.sh/resource-policy"), false
	}},
}

// withoutReports are further differences where the report server is off.
var withoutReports = []difference{
	{"no Service", func(o *unstructured.Unstructured) (bool, bool) {
		is := o.GetKind() == "Service" && o.GetName() == "trainingjob-reports"
		return is, is
	}},
	{"no port", func(o *unstructured.Unstructured) (bool, bool) {
		if o.GetKind() != "Deployment" || o.GetName() != "trainingjob-operator" {
			return false, false
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		container := containers[0].(map[string]any)
		var ports []any
		for _, p := range container["ports"].([]any) {
			if p.(map[string]any)["name"] != "reports" {
				ports = append(ports, p)
			}
		}
		changed := len(ports) < len(container["ports"].([]any))
		container["ports"] = ports
		_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")
		return changed, false
	}},
}

// dropAnnotation reports whether an object had it.
func dropAnnotation(o *unstructured.Unstructured, key string) bool {
	annotations := o.GetAnnotations()
	_, has := annotations[key]
	delete(annotations, key)
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
	return has
}

// normalise applies differences and counts in used how often each changed something.
func normalise(all objects, allowed []difference, used map[string]int) objects {
	left := objects{}
	for key, o := range all {
		keep := true
		for _, d := range allowed {
			changed, dropped := d.apply(o)
			if changed {
				used[d.reason]++
			}
			if keep = keep && !dropped; !keep {
				break
			}
		}
		if keep {
			left[key] = o
		}
	}
	return left
}

// inNamespace is an object as kustomize would have it in another namespace of the operator.
func inNamespace(text, name string) string { return strings.ReplaceAll(text, namespace, name) }
