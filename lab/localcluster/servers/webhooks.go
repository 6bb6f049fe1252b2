package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// webhooks are those that a component brings in the file manifests.yaml of its folder of webhooks: first the
// mutating, then the validating ones. Functions may be nil.
type webhooks struct {
	component string
	// port is the name of the port on which it serves them.
	port string
	// served reports whether it serves a webhook with the rules. Default: it does.
	served func(rules) bool
	// namespaces and objects select those for which a webhook with the rules is called. Default: all.
	namespaces, objects func(rules) *metav1.LabelSelector
}

// rules of one webhook.
type rules = []admissionv1.RuleWithOperations

// registerWebhooks registers webhooks by URL: the manifests name a Service, and no Service leads to a process
// outside the cluster.
func (c Config) registerWebhooks(ctx context.Context, config *rest.Config, w webhooks) error {
	authority, err := os.ReadFile(c.Files.CA())
	if err != nil {
		return fmt.Errorf("reading the authority's certificate: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	folder := c.Binaries.Path(w.component, components.WebhookFolder)
	content, err := os.ReadFile(filepath.Join(folder, "manifests.yaml"))
	if err != nil {
		return fmt.Errorf("reading the webhooks of %s: %w", w.component, err)
	}
	mutating, validating, err := w.read(content, layout.LocalURL(c.Ports[w.port], ""), authority)
	if err != nil {
		return err
	}
	api := clients.AdmissionregistrationV1()
	_, err = api.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering the webhooks of %s: %w", w.component, err)
	}
	_, err = api.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering the webhooks of %s: %w", w.component, err)
	}
	return nil
}

// read reads the manifests and keeps the webhooks that are served. They get a URL and an authority.
func (w webhooks) read(manifests []byte, base string, authority []byte) (
	*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration, error,
) {
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for _, into := range []runtime.Object{mutating, validating} {
		for into.GetObjectKind().GroupVersionKind().Kind == "" { // a document can have nothing but a license
			if err := decoder.Decode(into); err != nil {
				return nil, nil, fmt.Errorf("decoding the webhooks of %s: %w", w.component, err)
			}
		}
	}
	byURL := func(c *admissionv1.WebhookClientConfig) {
		url := base + *c.Service.Path
		*c = admissionv1.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	mutating.Name = w.component + "-mutating-webhook-configuration"
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(one admissionv1.MutatingWebhook) bool {
		return w.served != nil && !w.served(one.Rules)
	})
	for i := range mutating.Webhooks {
		one := &mutating.Webhooks[i]
		byURL(&one.ClientConfig)
		one.NamespaceSelector, one.ObjectSelector = w.selectors(one.Rules)
	}
	validating.Name = w.component + "-validating-webhook-configuration"
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(one admissionv1.ValidatingWebhook) bool {
		return w.served != nil && !w.served(one.Rules)
	})
	for i := range validating.Webhooks {
		one := &validating.Webhooks[i]
		byURL(&one.ClientConfig)
		one.NamespaceSelector, one.ObjectSelector = w.selectors(one.Rules)
	}
	return mutating, validating, nil
}

func (w webhooks) selectors(of rules) (namespaces, objects *metav1.LabelSelector) {
	if w.namespaces != nil {
		namespaces = w.namespaces(of)
	}
	if w.objects != nil {
		objects = w.objects(of)
	}
	return namespaces, objects
}

// groupsOf are the API groups of the rules.
func groupsOf(of rules) []string {
	var groups []string
	for _, rule := range of {
		groups = append(groups, rule.APIGroups...)
	}
	return groups
}
