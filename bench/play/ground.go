package play

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/stack"
)

// Ground makes what gangs need before any stack's queues: exactly these fake nodes, the priority classes, and
// a new namespace.
func Ground(ctx context.Context, clients kubernetes.Interface, namespace string, nodes, gpus int) error {
	if err := shapeNodes(ctx, clients, nodes, gpus); err != nil {
		return err
	}
	for _, class := range stack.PriorityClasses() {
		_, err := clients.SchedulingV1().PriorityClasses().Create(ctx, &class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating PriorityClass %s: %w", class.Name, err)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	return nil
}
