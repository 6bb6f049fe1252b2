package stack

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// clearNamespace deletes all objects of the kinds in a namespace, then its pods without grace, so that one
// run does not slow down the next.
func clearNamespace(ctx context.Context, config *rest.Config, namespace string,
	resources ...schema.GroupVersionResource) error {
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	now, background := int64(0), metav1.DeletePropagationBackground
	all := metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for _, r := range append(resources, pods) {
		err := dyn.Resource(r).Namespace(namespace).DeleteCollection(ctx, all, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s: %w", r.Resource, err)
		}
	}
	return nil
}
