package stack

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Connections is the number of concurrent requests of a benchmark client.
const Connections = 16

// Gangs are captured groups and pods that a raw client can write again.
type Gangs struct {
	Resource schema.GroupVersionResource
	Groups   []unstructured.Unstructured
	Pods     []corev1.Pod
}

// Capture reads the groups and pods of a namespace and strips what the API server, the scheduler and the
// owner have added.
func Capture(ctx context.Context, config *rest.Config, namespace string,
	groups schema.GroupVersionResource) (Gangs, error) {
	g := Gangs{Resource: groups}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return g, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return g, err
	}
	list, err := dyn.Resource(groups).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return g, fmt.Errorf("listing groups: %w", err)
	}
	for _, group := range list.Items {
		g.Groups = append(g.Groups, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group.GetAPIVersion(), "kind": group.GetKind(), "spec": group.Object["spec"],
			"metadata": map[string]any{"name": group.GetName(),
				"labels": group.Object["metadata"].(map[string]any)["labels"]},
		}})
	}
	pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return g, fmt.Errorf("listing pods: %w", err)
	}
	for _, pod := range pods.Items {
		pod.Spec.NodeName = ""
		g.Pods = append(g.Pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Labels: pod.Labels, Annotations: pod.Annotations},
			Spec:       pod.Spec,
		})
	}
	return g, nil
}

// WriteRaw creates groups, then pods, as fast as Connections allow. No operator can be faster on this
// scheduler.
func WriteRaw(ctx context.Context, config *rest.Config, namespace string, gangs Gangs) error {
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	clients, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return err
	}
	err = parallel(ctx, len(gangs.Groups), func(ctx context.Context, i int) error {
		_, err := dyn.Resource(gangs.Resource).Namespace(namespace).Create(ctx, &gangs.Groups[i],
			metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing groups: %w", err)
	}
	err = parallel(ctx, len(gangs.Pods), func(ctx context.Context, i int) error {
		_, err := clients.CoreV1().Pods(namespace).Create(ctx, &gangs.Pods[i], metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing pods: %w", err)
	}
	return nil
}

func parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Connections)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
