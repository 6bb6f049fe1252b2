package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// groupsOf maps a scheduler to the groups that a raw client writes before its pods.
var groupsOf = map[string]schema.GroupVersionResource{
	localcluster.SchedulerVolcano: {Group: "scheduling.volcano.sh", Version: "v1beta1",
		Resource: "podgroups"},
	localcluster.SchedulerNative: {Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"},
	localcluster.SchedulerCoscheduling: {Group: "scheduling.x-k8s.io", Version: "v1alpha1",
		Resource: "podgroups"},
}

// deadline bounds one run, from the first write until everything is deleted.
const deadline = 10 * time.Minute

// burst runs the gangs on one scheduler, alternating between the operator and the raw client.
type burst struct {
	options
	cluster   *localcluster.Cluster
	scheduler string
	dir       string
}

// run is one measurement, from the first write until the last rank runs.
type run struct {
	Way     string
	Seconds float64
	// Writes by user agent.
	Writes map[string]measure.Writes
	// CPU seconds by program.
	CPU map[string]float64
}

// runAll runs the pairs after one that is discarded: the first burst on a fresh cluster includes what every
// process does once (compiling the CRD's rules, opening connections, growing caches), and would charge it to
// the operator.
func (b *burst) runAll(ctx context.Context) ([]run, error) {
	var runs []run
	for i := range b.pairs + 1 {
		ours, gangs, err := b.ours(ctx, fmt.Sprintf("%s-ours-%d", b.scheduler, i))
		if err != nil {
			return nil, fmt.Errorf("with the operator: %w", err)
		}
		raw, err := b.raw(ctx, fmt.Sprintf("%s-raw-%d", b.scheduler, i), gangs)
		if err != nil {
			return nil, fmt.Errorf("raw: %w", err)
		}
		if i == 0 {
			fmt.Fprintf(os.Stderr, "%s, warming up: operator %.1f s, raw %.1f s\n", b.scheduler, ours.Seconds,
				raw.Seconds)
			continue
		}
		fmt.Fprintf(os.Stderr, "%s, pair %d of %d: operator %.1f s, raw %.1f s\n", b.scheduler, i, b.pairs,
			ours.Seconds, raw.Seconds)
		runs = append(runs, ours, raw)
	}
	return runs, nil
}

func (b *burst) ours(ctx context.Context, namespace string) (run, stack.Gangs, error) {
	op, err := stack.StartOperator(ctx, b.operator, b.cluster.Kubeconfig(), b.scheduler, b.dir)
	if err != nil {
		return run{}, stack.Gangs{}, err
	}
	defer op.Stop() //nolint:errcheck // for the error path; below it is stopped and checked
	var gangs stack.Gangs
	r, err := b.measure(ctx, namespace, "operator", func(ctx context.Context) error {
		return stack.WriteJobs(ctx, b.config("bench/burst"), b.jobs(namespace))
	}, func(ctx context.Context) error {
		gangs, err = stack.Capture(ctx, b.config("bench/burst"), namespace, groupsOf[b.scheduler])
		return err
	})
	return r, gangs, errors.Join(err, op.Stop())
}

func (b *burst) raw(ctx context.Context, namespace string, gangs stack.Gangs) (run, error) {
	return b.measure(ctx, namespace, "raw", func(ctx context.Context) error {
		return stack.WriteRaw(ctx, b.config("raw/burst"), namespace, gangs)
	}, func(context.Context) error { return nil })
}

// measure calls write to create the gangs in a fresh namespace, waits until every rank runs, calls look, and
// cleans up.
func (b *burst) measure(ctx context.Context, namespace, way string, write,
	look func(context.Context) error) (run, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, errors.New("not done within 10 minutes"))
	defer cancel()
	clients, err := kubernetes.NewForConfig(b.config("bench/burst"))
	if err != nil {
		return run{}, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return run{}, fmt.Errorf("creating the namespace: %w", err)
	}
	running, err := measure.WatchRunning(ctx, clients, namespace)
	if err != nil {
		return run{}, err
	}
	audit, err := measure.NewAuditLog(b.cluster.AuditLog())
	if err != nil {
		return run{}, err
	}
	before, err := measure.CPU()
	if err != nil {
		return run{}, err
	}
	start := time.Now()
	if err := write(ctx); err != nil {
		return run{}, err
	}
	end, err := running.Until(ctx, func(_, n int) bool { return n == b.gangs*b.ranks })
	if err != nil {
		return run{}, err
	}
	after, err := measure.CPU()
	if err != nil {
		return run{}, err
	}
	if err := b.awaitStatus(ctx, namespace, way); err != nil {
		return run{}, err
	}
	writes, err := audit.Since()
	if err != nil {
		return run{}, err
	}
	if err := look(ctx); err != nil {
		return run{}, err
	}
	if err := b.clear(ctx, clients, namespace); err != nil {
		return run{}, err
	}
	_, err = running.Until(ctx, func(pods, _ int) bool { return pods == 0 })
	return run{Way: way, Seconds: end.Sub(start).Seconds(), Writes: writes,
		CPU: measure.Minus(after, before)}, err
}

// awaitStatus waits until every job's status is Running, so that those writes are counted too.
func (b *burst) awaitStatus(ctx context.Context, namespace, way string) error {
	if way != "operator" {
		return nil
	}
	return stack.AwaitPhase(ctx, b.config("bench/burst"), namespace, v1alpha1.PhaseRunning, b.gangs)
}

// clear empties the namespace, so that one run does not slow down the next.
func (b *burst) clear(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	dyn, err := dynamic.NewForConfig(b.config("bench/burst"))
	if err != nil {
		return err
	}
	now := int64(0)
	all := metav1.DeleteOptions{GracePeriodSeconds: &now}
	jobs := v1alpha1.GroupVersion.WithResource("trainingjobs")
	for _, resource := range []schema.GroupVersionResource{jobs, groupsOf[b.scheduler]} {
		if err := dyn.Resource(resource).Namespace(namespace).DeleteCollection(ctx, all,
			metav1.ListOptions{}); err != nil {
			return fmt.Errorf("deleting %s: %w", resource.Resource, err)
		}
	}
	if err := clients.CoreV1().Pods(namespace).DeleteCollection(ctx, all, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting pods: %w", err)
	}
	return nil
}

func (b *burst) jobs(namespace string) []v1alpha1.TrainingJob {
	jobs := make([]v1alpha1.TrainingJob, b.gangs)
	ranks := int32(b.ranks)
	for i := range jobs {
		jobs[i] = v1alpha1.TrainingJob{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("gang-%03d", i), Namespace: namespace},
			Spec: v1alpha1.TrainingJobSpec{
				Framework: v1alpha1.FrameworkPyTorch, Image: "example/train:1", Command: []string{"train"},
				Replicas: &ranks,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse("1"), "cpu": resource.MustParse("1"),
				}},
			},
		}
	}
	return jobs
}

func (b *burst) config(agent string) *rest.Config {
	c := b.cluster.RESTConfig()
	c.UserAgent = agent
	return c
}
