package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// portKueueWebhook is the port on which Kueue serves its webhooks.
const portKueueWebhook = "kueue-webhook"

// registerKueueWebhooks registers Kueue's webhooks by URL: the manifests name a Service, and no Service
// leads to a process outside the cluster.
func registerKueueWebhooks(ctx context.Context, c Config, config *rest.Config) error {
	authority, err := os.ReadFile(c.Files.CA())
	if err != nil {
		return fmt.Errorf("reading the authority's certificate: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	folder := c.Binaries.Path(components.Kueue, components.WebhookFolder)
	content, err := os.ReadFile(filepath.Join(folder, "manifests.yaml"))
	if err != nil {
		return fmt.Errorf("reading Kueue's webhooks: %w", err)
	}
	url := layout.LocalURL(c.Ports[portKueueWebhook], "")
	mutating, validating, err := kueueWebhooks(content, url, authority)
	if err != nil {
		return err
	}
	api := clients.AdmissionregistrationV1()
	_, err = api.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering Kueue's webhooks: %w", err)
	}
	_, err = api.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering Kueue's webhooks: %w", err)
	}
	return nil
}

// kueueWebhooks reads the manifests, and keeps the webhooks that Kueue serves with our configuration. They
// get a URL and an authority. Those on pods and jobs ignore the system's own namespaces, as in Kueue's
// kustomization.
func kueueWebhooks(manifests []byte, base string, authority []byte) (
	*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration, error,
) {
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for _, into := range []any{mutating, validating} {
		if err := decoder.Decode(into); err != nil {
			return nil, nil, fmt.Errorf("decoding Kueue's webhooks: %w", err)
		}
	}
	byURL := func(c *admissionv1.WebhookClientConfig) {
		url := base + *c.Service.Path
		*c = admissionv1.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	mutating.Name = "kueue-mutating-webhook-configuration"
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(w admissionv1.MutatingWebhook) bool {
		return !served(w.Rules)
	})
	for i := range mutating.Webhooks {
		w := &mutating.Webhooks[i]
		byURL(&w.ClientConfig)
		w.NamespaceSelector = outsideSystem(w.Rules)
	}
	validating.Name = "kueue-validating-webhook-configuration"
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(w admissionv1.ValidatingWebhook) bool {
		return !served(w.Rules)
	})
	for i := range validating.Webhooks {
		w := &validating.Webhooks[i]
		byURL(&w.ClientConfig)
		w.NamespaceSelector = outsideSystem(w.Rules)
	}
	return mutating, validating, nil
}

// served reports whether Kueue serves a webhook with these rules: all of them are on its own kinds or on the
// integrations of lab/modules/kueue/configuration.yaml.
func served(rules []admissionv1.RuleWithOperations) bool {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			if group != kueuev1beta2.SchemeGroupVersion.Group && group != "" && group != "batch" {
				return false
			}
		}
	}
	return true
}

// outsideSystem selects all namespaces but the system's own, for webhooks on other kinds than Kueue's.
func outsideSystem(rules []admissionv1.RuleWithOperations) *metav1.LabelSelector {
	for _, rule := range rules {
		if slices.Contains(rule.APIGroups, kueuev1beta2.SchemeGroupVersion.Group) {
			return nil
		}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key:      corev1.LabelMetadataName,
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   []string{metav1.NamespaceSystem, "kueue-system"},
	}}}
}

// waitForKueueWebhooks waits until the API server calls them, which it does a moment after they are
// registered.
func waitForKueueWebhooks(ctx context.Context, config *rest.Config, died func() error) error {
	api, err := newKueueClient(config)
	if err != nil {
		return err
	}
	var last string
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		last, err = probeWebhooks(ctx, api)
		return last == "", err
	})
	if err != nil {
		return fmt.Errorf("waiting for Kueue's webhooks: %w (last: %s)", err, last)
	}
	return nil
}

// newKueueClient returns a client whose writes are dry runs.
func newKueueClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme() // the default one is shared, and read while this runs
	if err := kueuev1beta2.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("naming Kueue's kinds: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client.NewDryRunClient(api), nil
}

// probeWebhooks creates two objects in a dry run: a flavor, to which the mutating webhook adds a finalizer,
// and a Workload, which the validating webhook refuses. It returns what did not happen yet, "" for nothing.
func probeWebhooks(ctx context.Context, api client.Client) (string, error) {
	flavor := &kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	if err := api.Create(ctx, flavor); err != nil {
		return "", fmt.Errorf("trying Kueue's mutating webhook: %w", err)
	}
	if len(flavor.Finalizers) == 0 {
		return "the mutating webhooks are not called yet", nil
	}
	workload := &kueuev1beta2.Workload{}
	workload.Name, workload.Namespace = "probe", metav1.NamespaceDefault
	for _, name := range []kueuev1beta2.PodSetReference{"a", "b"} {
		set := kueuev1beta2.PodSet{Name: name, Count: 2, MinCount: new(int32(1))} // one pod set may have it
		set.Template.Spec.Containers = []corev1.Container{{Name: "probe"}}
		workload.Spec.PodSets = append(workload.Spec.PodSets, set)
	}
	switch err := api.Create(ctx, workload); {
	case err == nil:
		return "the validating webhooks are not called yet", nil
	case apierrors.IsForbidden(err):
		return "", nil
	default:
		return err.Error(), nil
	}
}
