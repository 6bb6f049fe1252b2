//go:build e2e

package install

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// remove all, as docs/install.md says.
func (a *admin) remove(j training) {
	a.t.Helper()
	// What is not listed now would not be missed afterwards.
	if all := a.everything(); !all.Has("deployments.apps "+system+"/"+v1alpha1.OperatorName) ||
		!all.Has("trainingjobs.mlplatform.example.com default/"+j.name) {
		a.t.Fatalf("the list of everything lacks the operator or its job: %q", sets.List(all))
	}
	a.forget(j)
	a.helm("uninstall", v1alpha1.OperatorName, "--namespace", system, "--wait")
	a.kubectl("delete", "crd", "trainingjobs.mlplatform.example.com")
	a.kubectl("delete", "namespace", system)
}

// everything that the cluster has, but for what comes and goes by itself.
func (a *admin) everything() sets.Set[string] {
	a.t.Helper()
	all, err := a.list(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return all
}

func (a *admin) list(ctx context.Context) (sets.Set[string], error) {
	config := a.cluster.RESTConfig()
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := found.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	all := sets.New[string]()
	for _, group := range kinds {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, kind := range group.APIResources {
			if !slices.Contains(kind.Verbs, "list") || kind.Name == "events" {
				continue
			}
			items, err := objects.Resource(version.WithResource(kind.Name)).List(ctx, metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("listing %s: %w", kind.Name, err)
			}
			if err == nil {
				for _, o := range items.Items {
					if o.Namespace == corev1.NamespaceNodeLease {
						continue
					}
					all.Insert(fmt.Sprintf("%s.%s %s/%s", kind.Name, version.Group, o.Namespace, o.Name))
				}
			}
		}
	}
	return all, nil
}

// nothingLeft checks that the cluster has what it had, and no more.
func (a *admin) nothingLeft(before sets.Set[string]) {
	a.t.Helper()
	a.until("the operator has left nothing behind", func(ctx context.Context) (bool, string, error) {
		now, err := a.list(ctx)
		if err != nil {
			return false, err.Error(), nil // the API's groups change while a CRD goes
		}
		left, lost := now.Difference(before), before.Difference(now)
		return left.Len()+lost.Len() == 0, fmt.Sprintf("left %q, lost %q", sets.List(left), sets.List(lost)), nil
	})
}
