package stack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// raw writes the groups and pods that the operator would write, and nothing else: no operator can be faster
// on this scheduler. A gang that loses a pod or must give its place back is deleted whole and written again.
type raw struct{ dialect }

// Raw is the floor of one of localcluster's schedulers.
func Raw(scheduler string) Stack { return raw{dialectOf(scheduler)} }

func (r raw) Describe() result.Stack {
	name := "raw/" + r.scheduler
	return result.Stack{
		Name: name, Title: "the same groups and pods written raw to " + r.title, Floor: name,
		Versions: versionsOf(r.components...), Settings: join([]result.Setting{
			{Program: "raw client", Name: "connections", Value: fmt.Sprint(Connections), Stock: true},
		}, r.settings),
	}
}

// Cluster implements Stack.
func (r raw) Cluster(options *localcluster.Options) { r.cluster(options) }

func (r raw) Start(_ context.Context, e Environment) (Session, error) {
	config := e.config("raw")
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &rawSession{dialect: r.dialect, Environment: e, dyn: dyn, clients: clients,
		templates: map[shape]template{}, gangs: map[string]*rawGang{}}, nil
}

// shape of gangs that have the same template.
type shape struct {
	gpus     int
	priority workload.Priority
}

type rawSession struct {
	dialect
	Environment
	dyn       dynamic.Interface
	clients   kubernetes.Interface
	templates map[shape]template

	mu    sync.Mutex
	gangs map[string]*rawGang
}

// rawGang is what was written of a gang. Its lock is held while that changes.
type rawGang struct {
	sync.Mutex
	// group is the first one and pods are those that were written last.
	group types.UID
	pods  map[types.UID]bool
}

// gang is locked when it is returned.
func (s *rawSession) gang(namespace, name string) *rawGang {
	s.mu.Lock()
	key := namespace + "/" + name
	if s.gangs[key] == nil {
		s.gangs[key] = &rawGang{}
	}
	g := s.gangs[key]
	s.mu.Unlock()
	g.Lock()
	return g
}

// Prepare lets the operator write one small gang of every shape, in another namespace, as templates.
func (s *rawSession) Prepare(ctx context.Context, namespace string, w workload.Workload) (err error) {
	operator, err := newObjects(ours{s.dialect}, s.config("bench"))
	if err != nil {
		return err
	}
	if err := operator.Prepare(ctx, namespace, w); err != nil {
		return err
	}
	missing := s.missing(w)
	if len(missing) == 0 {
		return nil
	}
	running, err := startOperator(ctx, s.Environment, s.scheduler)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Stop()) }()
	for _, of := range missing {
		if s.templates[of], err = s.template(ctx, operator, namespace, of); err != nil {
			return fmt.Errorf("capturing a gang: %w", err)
		}
	}
	return nil
}

// missing are the shapes of a workload's gangs that have no template.
func (s *rawSession) missing(w workload.Workload) []shape {
	var missing []shape
	for _, g := range w.Gangs {
		of := shape{g.GPUs, g.Priority}
		if _, ok := s.templates[of]; !ok {
			s.templates[of] = template{}
			missing = append(missing, of)
		}
	}
	return missing
}

func (s *rawSession) template(ctx context.Context, operator Session, namespace string, of shape) (template,
	error) {
	g := workload.Gang{Name: capturedGang, Ranks: capturedRanks, GPUs: of.gpus, Priority: of.priority}
	if err := operator.Submit(ctx, namespace, g); err != nil {
		return template{}, err
	}
	t, err := s.capture(ctx, namespace)
	if err != nil {
		return t, err
	}
	if err := operator.Delete(ctx, namespace, g); err != nil {
		return t, err
	}
	return t, s.awaitGone(ctx, namespace, g)
}

func (s *rawSession) Submit(ctx context.Context, namespace string, g workload.Gang) error {
	written := s.gang(namespace, g.Name)
	defer written.Unlock()
	return s.write(ctx, namespace, g, written)
}

// write the groups and the pods of a gang that is locked.
func (s *rawSession) write(ctx context.Context, namespace string, g workload.Gang, written *rawGang) error {
	groups := len(s.groups)
	if s.gated {
		groups = 1
	}
	uid, err := s.writeGroups(ctx, namespace, g, 0, groups)
	if err != nil {
		return err
	}
	written.group = uid
	if s.gated {
		if err := s.awaitAdmission(ctx, namespace, g); err != nil {
			return err
		}
		if _, err := s.writeGroups(ctx, namespace, g, groups, len(s.groups)); err != nil {
			return err
		}
	}
	t := s.templates[shape{g.GPUs, g.Priority}]
	uids := make([]types.UID, g.Ranks)
	err = parallel(ctx, g.Ranks, func(ctx context.Context, i int) error {
		pod, err := t.podOf(i, g)
		if err != nil {
			return err
		}
		pod, err = s.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err == nil {
			uids[i] = pod.UID
		}
		return err
	})
	written.pods = map[types.UID]bool{}
	for _, uid := range uids {
		written.pods[uid] = true
	}
	return err
}

// writeGroups returns the UID of the first that it writes.
func (s *rawSession) writeGroups(ctx context.Context, namespace string, g workload.Gang, from, to int) (
	first types.UID, err error) {
	t := s.templates[shape{g.GPUs, g.Priority}]
	for i := from; i < to; i++ {
		group, err := t.group(i, g)
		if err != nil {
			return "", err
		}
		group, err = s.dyn.Resource(s.groups[i]).Namespace(namespace).Create(ctx, group, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("creating a group: %w", err)
		}
		if i == from {
			first = group.GetUID()
		}
	}
	return first, nil
}

// awaitAdmission watches the first group until the scheduler has admitted it.
func (s *rawSession) awaitAdmission(ctx context.Context, namespace string, g workload.Gang) error {
	group, err := s.templates[shape{g.GPUs, g.Priority}].group(0, g)
	if err != nil {
		return err
	}
	w, err := s.dyn.Resource(s.groups[0]).Namespace(namespace).Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + group.GetName()})
	if err != nil {
		return fmt.Errorf("watching a group: %w", err)
	}
	defer w.Stop()
	for {
		select {
		case event, ok := <-w.ResultChan():
			if !ok {
				return s.awaitAdmission(ctx, namespace, g)
			}
			if u, ok := event.Object.(*unstructured.Unstructured); ok && s.admitted(u) {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// PodLost implements Minder. What a watch tells of a pod that was deleted then means nothing.
func (s *rawSession) PodLost(ctx context.Context, namespace string, g workload.Gang, pod types.UID) error {
	return s.again(ctx, namespace, g, func(written *rawGang) bool { return written.pods[pod] })
}

// Evicted implements Minder. The group says so until it is gone.
func (s *rawSession) Evicted(ctx context.Context, namespace string, g workload.Gang, group types.UID) error {
	return s.again(ctx, namespace, g, func(written *rawGang) bool { return written.group == group })
}

// again deletes the gang whole and writes it again, if what has happened is true of what was written last.
func (s *rawSession) again(ctx context.Context, namespace string, g workload.Gang,
	current func(*rawGang) bool) error {
	written := s.gang(namespace, g.Name)
	defer written.Unlock()
	if !current(written) {
		return nil
	}
	if err := s.Delete(ctx, namespace, g); err != nil {
		return err
	}
	if err := s.awaitGone(ctx, namespace, g); err != nil {
		return err
	}
	return s.write(ctx, namespace, g, written)
}

// Finished gives back what the gang's groups hold.
func (s *rawSession) Finished(ctx context.Context, namespace string, g workload.Gang) error {
	return s.deleteGroups(ctx, namespace, g)
}

func (s *rawSession) deleteGroups(ctx context.Context, namespace string, g workload.Gang) error {
	t := s.templates[shape{g.GPUs, g.Priority}]
	for i, r := range s.groups {
		group, err := t.group(i, g)
		if err != nil {
			return err
		}
		err = s.dyn.Resource(r).Namespace(namespace).Delete(ctx, group.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting a group: %w", err)
		}
	}
	return nil
}

func (s *rawSession) Delete(ctx context.Context, namespace string, g workload.Gang) error {
	if err := s.deleteGroups(ctx, namespace, g); err != nil {
		return err
	}
	now := int64(0)
	return s.clients.CoreV1().Pods(namespace).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now},
		metav1.ListOptions{LabelSelector: measure.LabelGang + "=" + g.Name})
}

// awaitGone waits until no pod and no group of the gang exists.
func (s *rawSession) awaitGone(ctx context.Context, namespace string, g workload.Gang) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods, err := s.clients.CoreV1().Pods(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: measure.LabelGang + "=" + g.Name})
		if err != nil || len(pods.Items) > 0 {
			return false, err
		}
		for _, r := range s.groups {
			list, err := s.dyn.Resource(r).Namespace(namespace).List(ctx,
				metav1.ListOptions{LabelSelector: labelJob + "=" + g.Name})
			if err != nil || len(list.Items) > 0 {
				return false, err
			}
		}
		return true, nil
	})
}

func (s *rawSession) Clear(ctx context.Context, namespace string) error {
	all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, r := range s.groups {
		err := s.dyn.Resource(r).Namespace(namespace).DeleteCollection(ctx, all, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("deleting every group: %w", err)
		}
	}
	err := s.clients.CoreV1().Pods(namespace).DeleteCollection(ctx, all, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("deleting all pods: %w", err)
	}
	return nil
}

// Stop does nothing: the client is part of this process.
func (s *rawSession) Stop() error { return nil }
