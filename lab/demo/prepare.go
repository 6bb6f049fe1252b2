package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Namespace of the story; whatever is in it goes when the story begins.
const Namespace = "demo"

// GPUs that the story needs, all free.
const storyGPUs = 32

func newClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	// They would be written into the live table.
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return c, nil
}

// renewNamespace deletes the namespace of an earlier story, waits until it is gone, and creates it.
func renewNamespace(ctx context.Context, c client.Client) error {
	const within = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := client.IgnoreNotFound(c.Delete(ctx, namespace)); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting namespace %s: %w", Namespace, err)
	}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
		err := c.Create(ctx, fresh)
		if apierrors.IsAlreadyExists(err) {
			return false, nil // its objects are still going
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("making namespace %s anew: %w", Namespace, err)
	}
	return nil
}

// checkFreeGPUs refuses a cluster whose GPUs are not all free: the story's numbers would not hold.
func checkFreeGPUs(ctx context.Context, c client.Client) error {
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := errors.Join(c.List(ctx, nodes), c.List(ctx, pods)); err != nil {
		return fmt.Errorf("looking for free GPUs: %w", err)
	}
	has := int64(0)
	for i := range nodes.Items {
		has += gpus(nodes.Items[i].Status.Allocatable)
	}
	if has != storyGPUs {
		return fmt.Errorf("the story needs a cluster of exactly %d GPUs, this one has %d; end it with \"localcluster down\", or name another with --dir", storyGPUs, has)
	}
	var holders []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if s := podState(pod, false); s.HoldsGPUs() && s.GPUs > 0 {
			holders = append(holders, pod.Namespace+"/"+pod.Name)
		}
	}
	if len(holders) > 0 {
		slices.Sort(holders)
		const most = 3
		more := ""
		if n := len(holders) - most; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return fmt.Errorf("the story needs all %d GPUs, but these pods hold some: %s%s; delete their jobs first", storyGPUs, strings.Join(holders[:min(most, len(holders))], ", "), more)
	}
	return nil
}
