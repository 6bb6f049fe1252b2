//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// strike does one fault, and says what it hit; "" if there was nothing to hit.
type strike func(context.Context) (string, error)

func (c *chaos) faults() map[Fault]strike {
	return map[Fault]strike{
		KillOperator:  c.killOperator,
		StopScheduler: c.stopScheduler,
		DeletePod:     c.deletePod,
		DestroyPod:    c.destroyPod,
		EvictPod:      c.evictPod,
		FailRank:      c.failRank,
		KillNode:      c.killNode,
		DeleteNode:    c.deleteNode,
		CordonNode:    c.cordonNode,
		LoseReports:   c.loseReports,
		Suspend:       c.suspendJob,
		Restart:       c.restartJob,
		DeleteJob:     c.deleteJob,
	}
}

func (c *chaos) killOperator(context.Context) (string, error) {
	if !c.operator.kill() {
		return "", nil
	}
	return "killed", nil
}

func (c *chaos) stopScheduler(ctx context.Context) (string, error) {
	name := c.dialect.process
	if c.broken["process "+name] {
		return "", nil
	}
	c.mend("process "+name, func(ctx context.Context) error { return c.cluster.StartProcess(ctx, name) })
	return name, c.cluster.StopProcess(ctx, name)
}

func (c *chaos) deletePod(ctx context.Context) (string, error) {
	return c.hitPod(ctx, func(pod *corev1.Pod) error { return c.cluster.client.Delete(ctx, pod) })
}

func (c *chaos) destroyPod(ctx context.Context) (string, error) {
	return c.hitPod(ctx, func(pod *corev1.Pod) error {
		return c.cluster.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	})
}

func (c *chaos) evictPod(ctx context.Context) (string, error) {
	return c.hitPod(ctx, func(pod *corev1.Pod) error {
		return c.cluster.client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		})
	})
}

// hitPod does something to a pod that lives. Who else deletes it in the same moment is no error.
func (c *chaos) hitPod(ctx context.Context, do func(*corev1.Pod) error) (string, error) {
	pods, err := c.livePods(ctx, false)
	if err != nil {
		return "", err
	}
	pod, ok := pick(c.random, aimAtPlan(c, pods, podIsPlanned))
	if !ok {
		return "", nil
	}
	switch err := do(pod); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return pod.Name, nil
}

func (c *chaos) failRank(ctx context.Context) (string, error) {
	pods, err := c.livePods(ctx, true)
	if err != nil {
		return "", err
	}
	var ranks []*corev1.Pod
	for _, pod := range pods {
		name := pod.Labels[v1alpha1.LabelJobName]
		// A simulated trainer decides by itself how it ends.
		if pod.Status.Phase == corev1.PodRunning && !c.failed[name] &&
			pod.Annotations[localcluster.AnnotationTrainer] == "" {
			ranks = append(ranks, pod)
		}
	}
	rank, ok := pick(c.random, aimAtPlan(c, ranks, podIsPlanned))
	if !ok {
		return "", nil
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"0",%q:"1"}}}`, localcluster.AnnotationRunSeconds,
		localcluster.AnnotationExitCode)
	err = c.cluster.client.Patch(ctx, rank, client.RawPatch("application/merge-patch+json", []byte(patch)))
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	c.failed[rank.Labels[v1alpha1.LabelJobName]] = true
	return rank.Name, nil
}

func (c *chaos) killNode(ctx context.Context) (string, error) {
	name, ok := pick(c.random, c.unbroken())
	if !ok {
		return "", nil
	}
	c.mend("node "+name, func(ctx context.Context) error { return c.cluster.ReviveNode(ctx, name) })
	return name, c.cluster.KillNode(ctx, name)
}

func (c *chaos) deleteNode(ctx context.Context) (string, error) {
	name, ok := pick(c.random, c.unbroken())
	if !ok {
		return "", nil
	}
	node := &corev1.Node{}
	if err := c.cluster.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return "", err
	}
	c.recreated[name] = true
	c.mend("node "+name, func(ctx context.Context) error {
		again := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: node.Labels, Annotations: node.Annotations},
			Status:     corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable},
		}
		return c.cluster.client.Create(ctx, again)
	})
	return name, c.cluster.client.Delete(ctx, node)
}

func (c *chaos) cordonNode(ctx context.Context) (string, error) {
	name, ok := pick(c.random, c.unbroken())
	if !ok {
		return "", nil
	}
	cordon := func(is bool) func(context.Context) error {
		return func(ctx context.Context) error {
			return c.changeNode(ctx, name, func(n *corev1.Node) { n.Spec.Unschedulable = is })
		}
	}
	c.mend("node "+name, cordon(false))
	return name, cordon(true)(ctx)
}

func (c *chaos) loseReports(context.Context) (string, error) {
	const reports = "the way of the reports"
	if c.broken[reports] {
		return "", nil
	}
	c.mend(reports, func(context.Context) error { c.operator.proxy.cut(false); return nil })
	c.operator.proxy.cut(true)
	return reports, nil
}

func (c *chaos) suspendJob(ctx context.Context) (string, error) {
	return c.hitJob(ctx, func(name string) error {
		c.mend("job "+name, func(ctx context.Context) error { return c.setSuspend(ctx, name, false) })
		return c.setSuspend(ctx, name, true)
	})
}

// setSuspend of a job. The API server refuses it for one that has finished in the meantime.
func (c *chaos) setSuspend(ctx context.Context, name string, is bool) error {
	err := suspend(name, is).do(ctx, c.Env)
	if !apierrors.IsInvalid(err) {
		return client.IgnoreNotFound(err)
	}
	v, lookErr := c.look(ctx)
	if lookErr != nil {
		return lookErr
	}
	if job := v.jobs[name]; job != nil && job.Status.Phase.Finished() {
		return nil
	}
	return err
}

func (c *chaos) restartJob(ctx context.Context) (string, error) {
	return c.hitJob(ctx, func(name string) error {
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRestart,
			time.Now().Format(time.RFC3339Nano))
		return c.cluster.client.Patch(ctx, job, client.RawPatch("application/merge-patch+json", []byte(patch)))
	})
}

func (c *chaos) deleteJob(ctx context.Context) (string, error) {
	return c.hitJob(ctx, func(name string) error {
		c.deleted[name] = true
		return remove(name).do(ctx, c.Env)
	})
}

// hitJob does something to a job that has not finished.
func (c *chaos) hitJob(ctx context.Context, do func(name string) error) (string, error) {
	jobs, err := c.unfinished(ctx)
	if err != nil {
		return "", err
	}
	job, ok := pick(c.random, aimAtPlan(c, jobs, jobIsPlanned))
	if !ok {
		return "", nil
	}
	return job.Name, do(job.Name)
}
