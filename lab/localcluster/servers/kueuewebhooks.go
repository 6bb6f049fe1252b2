package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// portKueueWebhook is the port on which Kueue serves its webhooks.
const portKueueWebhook = "kueue-webhook"

// registerKueueWebhooks registers the webhooks that Kueue serves: those on its own kinds, and on the kinds of
// the frameworks of its configuration.
func registerKueueWebhooks(ctx context.Context, c Config, config *rest.Config) error {
	frameworks, err := c.kueueFrameworks()
	if err != nil {
		return err
	}
	groups := sets.New(kueuev1beta2.SchemeGroupVersion.Group)
	for _, framework := range frameworks {
		group, _, named := strings.Cut(framework, "/")
		if !named { // "pod" is of the group without a name
			group = ""
		}
		groups.Insert(group)
	}
	return c.registerWebhooks(ctx, config, webhooks{
		component: components.Kueue,
		port:      portKueueWebhook,
		served:    func(of rules) bool { return groups.HasAll(groupsOf(of)...) },
		// Those on pods and jobs ignore the system's own namespaces, as in Kueue's kustomization.
		namespaces: func(of rules) *metav1.LabelSelector {
			if slices.Contains(groupsOf(of), kueuev1beta2.SchemeGroupVersion.Group) {
				return nil
			}
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key:      corev1.LabelMetadataName,
				Operator: metav1.LabelSelectorOpNotIn,
				Values:   []string{metav1.NamespaceSystem, "kueue-system"},
			}}}
		},
	})
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
