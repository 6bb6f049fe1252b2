package servers

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// The limits reach Kueue's configuration, whichever it is, and only those that are given.
func TestKueueLimits(t *testing.T) {
	cases := map[string]struct {
		reason string
		file   string
		limits Limits
		// qps, jobs and jobSets are the client's requests per second, and the workers; -1: not named.
		qps, jobs, jobSets float64
	}{
		"ours":            {"it has limits of its own", "", Limits{}, 2000, -1, -1},
		"release":         {"as released: no kind is JobSet", KueueReleaseConfiguration, Limits{}, 300, 5, -1},
		"release, raised": {"all are set", KueueReleaseConfiguration, Limits{2000, 4000, 10}, 2000, 10, 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := testConfig([]string{SchedulerKueue}, false, "")
			config.Modules, config.Configurations = modules(t), map[string]string{SchedulerKueue: c.file}
			config.Limits = map[string]Limits{ProcessKueue: c.limits}
			got, err := config.kueueConfiguration()
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]float64{"qps": c.qps, "Job": c.jobs, "JobSet": c.jobSets}
			if diff := cmp.Diff(want, map[string]float64{
				"qps":    number(got, "clientConnection", "qps"),
				"Job":    number(got, "controller", "groupKindConcurrency", "Job.batch"),
				"JobSet": number(got, "controller", "groupKindConcurrency", kueueJobSet),
			}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// number at a path, -1 for none.
func number(in map[string]any, path ...string) float64 {
	value, found, _ := unstructured.NestedFieldNoCopy(in, path...)
	switch value := value.(type) {
	case float64:
		return value
	case int64:
		return float64(value)
	}
	if found {
		return -2
	}
	return -1
}

func modules(t *testing.T) string {
	t.Helper()
	folder, err := components.FindModules("")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// Webhooks without a server would refuse requests.
func TestWebhooks(t *testing.T) {
	const manifests = `
# A license.
---
kind: MutatingWebhookConfiguration
webhooks:
- {name: job, rules: [{apiGroups: [batch]}], clientConfig: {service: {path: /job}}}
- {name: ray, rules: [{apiGroups: [ray.io]}], clientConfig: {service: {path: /ray}}}
---
kind: ValidatingWebhookConfiguration
webhooks:
- {name: pod, rules: [{apiGroups: [""]}], clientConfig: {service: {path: /pod}}}
`
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	w := webhooks{
		component: "c",
		served:    func(of rules) bool { return !slices.Contains(groupsOf(of), "ray.io") },
		objects: func(of rules) *metav1.LabelSelector {
			if slices.Contains(groupsOf(of), "") {
				return selector
			}
			return nil
		},
	}
	mutating, validating, err := w.read([]byte(manifests), "https://127.0.0.1:1", []byte("authority"))
	if err != nil {
		t.Fatal(err)
	}
	if len(mutating.Webhooks) != 1 || mutating.Webhooks[0].Name != "job" ||
		*mutating.Webhooks[0].ClientConfig.URL != "https://127.0.0.1:1/job" ||
		mutating.Webhooks[0].ClientConfig.Service != nil || mutating.Webhooks[0].ObjectSelector != nil {
		t.Errorf("mutating: %+v", mutating.Webhooks)
	}
	if diff := cmp.Diff(selector, validating.Webhooks[0].ObjectSelector); diff != "" {
		t.Errorf("validating (-want +got):\n%s", diff)
	}
}
