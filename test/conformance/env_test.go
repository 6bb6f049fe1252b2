//go:build cluster

package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// stepTimeout bounds one step. It is generous: the machine may be slow, and a backoff is 10 s.
const stepTimeout = 2 * time.Minute

// Env is the environment of one play of a scenario: a namespace, nodes that no other scenario uses meanwhile,
// an operator and a recorder.
type Env struct {
	cluster   *testCluster
	dialect   *dialect
	namespace string
	nodePool
	recorder *recorder
	operator *operator
	// stopFake ends the fake scheduler; nil for real ones.
	stopFake func()
	// noted describes jobs that the scenario deletes before its end.
	noted []string
	// undo functions are called in reverse order.
	undo []func(context.Context) error
}

var namespaces atomic.Int64

// newEnv prepares an environment; the caller must close it. The operator is killed at the given crashes, one
// after the other.
func newEnv(ctx context.Context, cluster *testCluster, d *dialect, crashes []Crash) (*Env, error) {
	e := &Env{cluster: cluster, dialect: d, namespace: fmt.Sprintf("scenario-%d", namespaces.Add(1))}
	if err := e.open(ctx, crashes); err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	return e, nil
}

func (e *Env) open(ctx context.Context, crashes []Crash) (err error) {
	if err := e.takeNodes(ctx); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	if err := e.cluster.client.Create(ctx, namespace); err != nil {
		return err
	}
	// The deletion is not awaited: by then the namespace is empty.
	e.later(func(ctx context.Context) error { return e.cluster.client.Delete(ctx, namespace) })
	e.recorder, err = newRecorder(ctx, e.cluster.client, e.namespace, e.dialect.backend.Kinds()[0])
	if err != nil {
		return err
	}
	e.later(func(context.Context) error { e.recorder.close(); return nil })
	if e.dialect.behavior != nil {
		e.startFake()
		e.later(func(context.Context) error { e.stopFake(); return nil })
	}
	if e.dialect.queueLabel != "" {
		if err := e.prepareQueues(ctx); err != nil {
			return err
		}
	}
	e.operator = &operator{
		config: e.cluster.RESTConfig(), namespace: e.namespace, backends: []scheduler.Backend{e.dialect.backend},
		fallback: e.dialect.name, remark: e.recorder.remark, certificates: e.cluster.certificates,
		planning: e.dialect.planning, hangs: e.dialect.hangs,
	}
	if e.operator.proxy, err = newReportProxy(e.cluster.certificates); err != nil {
		return err
	}
	e.later(func(context.Context) error { e.operator.proxy.close(); return nil })
	if e.dialect.behavior != nil {
		e.operator.fallback = fakescheduler.Name
	}
	e.operator.start(crashes)
	e.later(func(context.Context) error { return e.operator.end() })
	e.later(e.empty)
	return nil
}

// prepareQueues makes a queue that admits every gang that the nodes can hold.
func (e *Env) prepareQueues(ctx context.Context) error {
	for _, o := range e.dialect.clusterObjects {
		if err := e.cluster.client.Create(ctx, o.DeepCopyObject().(client.Object)); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	var gpus int64
	for _, n := range e.nodes {
		gpus += n
	}
	return e.makeQueue(ctx, defaultQueue, fmt.Sprint(gpus))
}

func (e *Env) later(f func(context.Context) error) { e.undo = append(e.undo, f) }

func (e *Env) takeNodes(ctx context.Context) (err error) {
	if e.dialect.behavior == nil {
		e.nodePool, err = e.cluster.realPools.of(e.dialect).get(ctx, e.cluster)
		return err
	}
	if e.nodePool, err = e.cluster.fakePools.take(ctx, e.cluster); err != nil {
		return err
	}
	e.later(func(context.Context) error { e.cluster.fakePools.put(e.nodePool); return nil })
	return nil
}

func (e *Env) startFake() {
	ctx, stop := context.WithCancel(context.Background())
	s := fakescheduler.New(poolClient{e.cluster.client, e.namespace, e.pool},
		fakescheduler.Config{Behavior: *e.dialect.behavior})
	done := make(chan struct{})
	go func() { defer close(done); runFake(ctx, s, e.recorder) }()
	e.stopFake = func() { stop(); <-done }
}

// empty deletes every job and waits until nothing of them is left, so that the next scenario has all GPUs. An
// object that the garbage collector does not remove fails the scenario.
func (e *Env) empty(ctx context.Context) error {
	e.recorder.remark("the scenario is over: every job is deleted")
	if err := e.cluster.client.DeleteAllOf(ctx, &v1alpha1.TrainingJob{},
		client.InNamespace(e.namespace)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := e.recorder.until(ctx, func(v *view) string {
		if len(v.jobs)+len(v.pods)+len(v.groups) == 0 {
			return ""
		}
		return fmt.Sprintf("%d jobs, %d pods and %d groups are left after the deletion of every job",
			len(v.jobs), len(v.pods), len(v.groups))
	})
	if err == nil {
		return nil
	}
	// The next scenario must not be affected.
	now := client.GracePeriodSeconds(0)
	return errors.Join(err, e.cluster.client.DeleteAllOf(context.WithoutCancel(ctx), &corev1.Pod{},
		client.InNamespace(e.namespace), now))
}

// close calls the undo functions.
func (e *Env) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for len(e.undo) > 0 {
		last := e.undo[len(e.undo)-1]
		e.undo = e.undo[:len(e.undo)-1]
		errs = append(errs, last(ctx))
	}
	return errors.Join(errs...)
}

// Step of a scenario: an action, or a condition to wait for.
type Step struct {
	say string
	do  func(context.Context, *Env) error
}

// play the steps in order.
func (e *Env) play(ctx context.Context, steps []Step) error {
	for i, step := range steps {
		e.recorder.remark("step %d: %s", i+1, step.say)
		if err := e.playStep(ctx, step); err != nil {
			return fmt.Errorf("step %d: %s: %w", i+1, step.say, err)
		}
		if err := e.operator.problem(); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) playStep(ctx context.Context, step Step) error {
	timeout := cmp.Or(e.dialect.timeout, stepTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	return step.do(ctx, e)
}

// violations of the rules in the history so far.
func (e *Env) violations() error {
	return e.violationsOf(Rules{
		Capacity: e.nodes, Backend: e.dialect.backend, ClusterObjects: e.dialect.clusterObjects,
	})
}

func (e *Env) violationsOf(rules Rules) error {
	if found := rules.Violations(e.recorder.soFar()); len(found) > 0 {
		return fmt.Errorf("invariants are broken:\n  %s", strings.Join(found, "\n  "))
	}
	return nil
}

// noteWaits adds to the history what the watched objects do not show of a waiting gang: its volume claims and
// the conditions of its pods.
func (e *Env) noteWaits(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	claims, pods := &corev1.PersistentVolumeClaimList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{claims, pods} {
		if err := e.cluster.client.List(ctx, list, client.InNamespace(e.namespace)); err != nil {
			e.recorder.remark("listing what waits: %v", err)
		}
	}
	for i := range claims.Items {
		e.recorder.remark("claim %s is %s, volume %q", claims.Items[i].Name, claims.Items[i].Status.Phase,
			claims.Items[i].Spec.VolumeName)
	}
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.Conditions {
			if c.Status == corev1.ConditionFalse {
				e.recorder.remark("pod %s: %s is False: %s", pods.Items[i].Name, c.Type, c.Message)
			}
		}
	}
}

// story is the context for a failed scenario.
func (e *Env) story() string {
	return fmt.Sprintf("history:\n%s\nwrites of the operator:\n  %s\nthe end of its log:\n%s",
		e.recorder.soFar(), strings.Join(e.operator.writes(), "\n  "), e.operator.logs())
}
