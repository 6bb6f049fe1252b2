package localcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Kueue's process and its ports.
const (
	processKueue     = "kueue"
	portKueueWebhook = "kueue-webhook"
	portKueueMetrics = "kueue-metrics"
)

// kueue adds Kueue's manager with its webhooks: without them nothing would test
// what it refuses, and what it does to pods. Gangs that it has admitted are bound
// by Kubernetes' own gang scheduling.
func kueue() scheduler {
	gangs := nativeGangs()
	return scheduler{
		components:    []string{componentKueue},
		ports:         []string{processKueue, portKueueWebhook, portKueueMetrics},
		featureGates:  gangs.featureGates,
		runtimeConfig: gangs.runtimeConfig,
		prepare: func(ctx context.Context, c *Cluster, p plan) error {
			if err := p.writeKueueFiles(); err != nil {
				return err
			}
			// Kueue gives up when a CRD of its own is missing at the start.
			return c.InstallCRDs(ctx, p.binaries.path(componentKueue, crdFolder))
		},
		processes: func(p plan) []process { return []process{p.kueue()} },
		configure: func(ctx context.Context, c *Cluster, p plan) error { return p.registerWebhooks(ctx, c) },
		ready:     waitForKueueWebhooks,
	}
}

// Files of Kueue's folder. It looks for the certificate of its metrics in
// /etc/kueue/metrics/certs, whatever it is told (cmd/kueue/main.go).
func (l layout) kueueConfiguration() string { return filepath.Join(l.kueue(), "configuration.yaml") }
func (l layout) kueueEtc() string           { return filepath.Join(l.kueue(), "etc") }
func (l layout) kueueCertificates() string {
	return filepath.Join(l.kueueEtc(), "kueue", "metrics", "certs")
}

func (p plan) kueue() process {
	port := p.ports[processKueue]
	return process{
		Name: processKueue,
		Path: p.binaries.path(componentKueue, processKueue),
		Args: []string{
			"--kubeconfig=" + p.files.kubeconfig(),
			"--config=" + p.files.kueueConfiguration(),
			// It would serve an aggregated API, which nobody asks here.
			"--feature-gates=VisibilityOnDemand=false",
			"--zap-log-level=2",
		},
		Log:    p.files.log(processKueue),
		Ports:  []int{port, p.ports[portKueueWebhook], p.ports[portKueueMetrics]},
		Health: "http://" + localAddress(port) + "/readyz",
		Etc:    p.files.kueueEtc(),
	}
}

// writeKueueFiles writes the configuration with this cluster's ports, and the
// serving certificate under the names that Kueue expects.
func (p plan) writeKueueFiles() error {
	if err := os.MkdirAll(p.files.kueueCertificates(), 0o700); err != nil {
		return fmt.Errorf("creating Kueue's folder: %w", err)
	}
	for from, to := range map[string]string{fileServerCert: "tls.crt", fileServerKey: "tls.key"} {
		if err := copyFile(p.files.pkiFile(from), filepath.Join(p.files.kueueCertificates(), to)); err != nil {
			return fmt.Errorf("copying Kueue's certificate: %w", err)
		}
	}
	content, err := os.ReadFile(p.configuration("kueue", "configuration.yaml"))
	if err != nil {
		return fmt.Errorf("reading Kueue's configuration: %w", err)
	}
	for name, value := range map[string]string{
		"HEALTH_ADDRESS":  localAddress(p.ports[processKueue]),
		"METRICS_ADDRESS": localAddress(p.ports[portKueueMetrics]),
		"WEBHOOK_PORT":    strconv.Itoa(p.ports[portKueueWebhook]),
		"WEBHOOK_CERTS":   p.files.kueueCertificates(),
	} {
		content = bytes.ReplaceAll(content, []byte("$("+name+")"), []byte(value))
	}
	if err := os.WriteFile(p.files.kueueConfiguration(), content, 0o600); err != nil {
		return fmt.Errorf("writing Kueue's configuration: %w", err)
	}
	return nil
}

// registerWebhooks registers Kueue's webhooks by URL: the manifests name a Service,
// and no Service leads to a process outside the cluster.
func (p plan) registerWebhooks(ctx context.Context, c *Cluster) error {
	authority, err := os.ReadFile(p.files.pkiFile(fileCA))
	if err != nil {
		return fmt.Errorf("reading the authority's certificate: %w", err)
	}
	clients, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	content, err := os.ReadFile(filepath.Join(p.binaries.path(componentKueue, webhookFolder), "manifests.yaml"))
	if err != nil {
		return fmt.Errorf("reading Kueue's webhooks: %w", err)
	}
	mutating, validating, err := kueueWebhooks(content, localURL(p.ports[portKueueWebhook], ""), authority)
	if err != nil {
		return err
	}
	api := clients.AdmissionregistrationV1()
	if _, err := api.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering Kueue's webhooks: %w", err)
	}
	if _, err := api.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering Kueue's webhooks: %w", err)
	}
	return nil
}

// kueueWebhooks reads the manifests: those webhooks that our configuration has
// Kueue serve, with a URL and an authority. Those on pods and jobs leave the
// system's own namespaces alone, as Kueue's kustomization has it.
func kueueWebhooks(manifests []byte, base string, authority []byte) (*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration, error) {
	mutating, validating := &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
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
	mutating.Name, validating.Name = "kueue-mutating-webhook-configuration", "kueue-validating-webhook-configuration"
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(w admissionv1.MutatingWebhook) bool { return !served(w.Rules) })
	for i := range mutating.Webhooks {
		w := &mutating.Webhooks[i]
		byURL(&w.ClientConfig)
		w.NamespaceSelector = outsideSystem(w.Rules)
	}
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return !served(w.Rules) })
	for i := range validating.Webhooks {
		w := &validating.Webhooks[i]
		byURL(&w.ClientConfig)
		w.NamespaceSelector = outsideSystem(w.Rules)
	}
	return mutating, validating, nil
}

// served webhooks are those on Kueue's own kinds and on the integrations of
// lab/modules/kueue/configuration.yaml.
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

func outsideSystem(rules []admissionv1.RuleWithOperations) *metav1.LabelSelector {
	for _, rule := range rules {
		if slices.Contains(rule.APIGroups, kueuev1beta2.SchemeGroupVersion.Group) {
			return nil
		}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem, "kueue-system"},
	}}}
}

// waitForKueueWebhooks waits until what is made passes through them: the API
// server learns of webhooks a moment after they are registered.
func waitForKueueWebhooks(ctx context.Context, c *Cluster) error {
	api, err := newKueueClient(c)
	if err != nil {
		return err
	}
	var last string
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := c.anyDead(); err != nil {
			return false, err
		}
		last, err = passesWebhooks(ctx, api)
		return last == "", err
	})
	if err != nil {
		return fmt.Errorf("waiting for Kueue's webhooks: %w (last: %s)", err, last)
	}
	return nil
}

func newKueueClient(c *Cluster) (client.Client, error) {
	scheme := runtime.NewScheme() // the default one is everybody's, and is read while this runs
	if err := kueuev1beta2.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("naming Kueue's kinds: %w", err)
	}
	api, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client.NewDryRunClient(api), nil
}

// passesWebhooks asks for two objects without making them: a flavour, to which the
// one webhook adds a finalizer, and a Workload that the other must refuse. It
// returns what is not so yet.
func passesWebhooks(ctx context.Context, api client.Client) (string, error) {
	flavor := &kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	if err := api.Create(ctx, flavor); err != nil {
		return "", fmt.Errorf("trying Kueue's mutating webhook: %w", err)
	}
	if len(flavor.Finalizers) == 0 {
		return "the mutating webhooks are not called yet", nil
	}
	workload := &kueuev1beta2.Workload{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: metav1.NamespaceDefault}}
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
