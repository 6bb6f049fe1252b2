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
	"k8s.io/apimachinery/pkg/util/wait"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespace of the story. It is emptied when the story begins.
const Namespace = "demo"

// storyGPUs is how many GPUs the cluster must have, all of them free.
const storyGPUs = 32

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
		return fmt.Errorf("creating namespace %s again: %w", Namespace, err)
	}
	return nil
}

// checkFreeGPUs returns an error unless all GPUs of the cluster are free, as the story's numbers require.
func checkFreeGPUs(
	ctx context.Context, c client.Client, cluster *localcluster.Cluster, scheduler string,
) error {
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := errors.Join(c.List(ctx, nodes), c.List(ctx, pods)); err != nil {
		return fmt.Errorf("looking for free GPUs: %w", err)
	}
	return judgeFreeGPUs(nodes.Items, pods.Items, remedies(cluster.Dir(), scheduler))
}

// judgeFreeGPUs returns an error, which ends with the remedies, unless the nodes have the story's GPUs and
// no pod holds one.
func judgeFreeGPUs(nodes []corev1.Node, pods []corev1.Pod, remedies string) error {
	total := int64(0)
	for i := range nodes {
		total += gpus(nodes[i].Status.Allocatable)
	}
	if total != storyGPUs {
		return fmt.Errorf("the story needs a cluster of exactly %d GPUs, this one has %d%s", storyGPUs, total,
			remedies)
	}
	var holders []string
	for i := range pods {
		if s := podState(&pods[i], false); s.HoldsGPUs() && s.GPUs > 0 {
			holders = append(holders, pods[i].Namespace+"/"+pods[i].Name)
		}
	}
	if len(holders) == 0 {
		return nil
	}
	slices.Sort(holders)
	const most = 3
	more := ""
	if n := len(holders) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("the story needs all %d GPUs, but these pods hold some: %s%s%s",
		storyGPUs, strings.Join(holders[:min(most, len(holders))], ", "), more, remedies)
}
