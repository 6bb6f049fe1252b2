package simtrainer

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// resolveTakes is how long `agent resolve` looks.
const resolveTakes = time.Second

// Simulator plays the pods of simulated trainers, one reconcile after the other for each.
type Simulator struct {
	// client reads pods and the leases of dead nodes from caches that index has indexed, and writes directly.
	client client.Client
	// nodes are read directly, each once.
	nodes  client.Reader
	volume *Volume
	clock  clock.Clock
	// wake asks for a reconcile of a pod.
	wake func(types.NamespacedName)

	mu     sync.Mutex
	actors map[types.NamespacedName]*cast
	// exits of rank 0, by gang: its pod may be gone before the others have followed it.
	exits map[string]Exit
	fake  map[string]bool
}

func newSimulator(c client.Client, nodes client.Reader, v *Volume, clock clock.Clock, wake func(types.NamespacedName)) *Simulator {
	return &Simulator{
		client: c, nodes: nodes, volume: v, clock: clock, wake: wake,
		actors: map[types.NamespacedName]*cast{}, exits: map[string]Exit{}, fake: map[string]bool{},
	}
}

// cast is who plays a pod. A pod of the same name and another UID is another's.
type cast struct {
	uid  types.UID
	gang string
	*actor
}

// Indices of the pods that are played.
const (
	indexGang = "gang"
	indexNode = "node"
)

// Reconcile looks at one pod.
func (s *Simulator) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := s.client.Get(ctx, req.NamespacedName, pod); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, s.forget(ctx, req.NamespacedName, "")
		}
		return ctrl.Result{}, fmt.Errorf("reading the pod: %w", err)
	}
	if err := s.forget(ctx, req.NamespacedName, pod.UID); err != nil {
		return ctrl.Result{}, err
	}
	if !isPlayed(pod) || pod.Spec.NodeName == "" {
		return ctrl.Result{}, nil
	}
	fake, err := s.onFakeNode(ctx, pod)
	if err != nil || !fake {
		return ctrl.Result{}, err
	}
	switch {
	case s.dead(ctx, pod.Spec.NodeName):
		return ctrl.Result{}, s.freeze(pod)
	case hasEnded(pod) || pod.Status.Phase != corev1.PodRunning:
		return ctrl.Result{}, s.remove(ctx, pod) // if somebody wants it gone
	case isResolver(pod):
		return s.resolve(ctx, pod)
	}
	return s.play(ctx, pod)
}

// play a rank.
func (s *Simulator) play(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	rank, err := readRank(pod)
	if err != nil {
		return ctrl.Result{}, s.refuse(ctx, pod, err)
	}
	if kill := killTime(pod); kill != nil && !s.clock.Now().Before(*kill) {
		return ctrl.Result{}, s.kill(ctx, pod, rank)
	}
	if rank.Number != 0 {
		return s.follow(ctx, pod, rank)
	}
	a, err := s.actor(ctx, pod, rank)
	if err != nil {
		return ctrl.Result{}, s.refuse(ctx, pod, err)
	}
	return s.lead(ctx, pod, a, rank.Spec)
}

// lead is rank 0's part: it trains as its annotation says now, reports, and ends when its trainer does.
func (s *Simulator) lead(ctx context.Context, pod *corev1.Pod, a *actor, spec Spec) (ctrl.Result, error) {
	missing, err := s.missing(ctx, a.rank)
	if err != nil {
		return ctrl.Result{}, err
	}
	t, news, err := a.catchUp(pod, spec, missing)
	if err != nil {
		return ctrl.Result{}, err
	}
	if t.Exit != nil {
		return ctrl.Result{}, s.finish(ctx, pod, a, t)
	}
	a.speak(context.WithoutCancel(ctx))
	if news {
		a.tell()
	}
	return s.again(pod, t.Next), nil
}

// catchUp brings the trainer up to now, with all that it is told. Nothing is done before it is on the volume.
func (a *actor) catchUp(pod *corev1.Pod, spec Spec, missing bool) (t Trainer, news bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	t, all := a.trainer.Thaw(now).Advance(now)
	more := func(next Trainer, saves []Saving) {
		t = next
		all = append(all, saves...)
	}
	t = t.Follow(spec, a.rank.saveEvery(spec), now)
	for _, c := range a.commands {
		more(t.Tell(c, now))
	}
	if pod.DeletionTimestamp != nil {
		more(t.Terminate(now, a.rank.Grace))
	}
	more(t.Wait(missing, now).Advance(now))
	if _, known := a.volume.Trainer(pod.UID); !known || t != a.trainer {
		if err := a.volume.Store(pod.UID, t, a.rank.Place, all, a.rank.Keep); err != nil {
			return t, false, err
		}
	}
	news = t.Phase != a.trainer.Phase || t.CommandID != a.trainer.CommandID || len(all) > 0
	a.trainer, a.commands = t, nil
	return t, news, nil
}

// finish rank 0: a last report, the pod's status, and the others follow.
func (s *Simulator) finish(ctx context.Context, pod *corev1.Pod, a *actor, t Trainer) error {
	if a.wrote {
		return s.remove(ctx, pod) // the cache does not have it yet
	}
	a.hush()
	if t.Exit.Unheard {
		if err := s.write(ctx, pod, ending{container: a.rank.Container, code: t.Exit.Code, at: t.Exit.At}, nil); err != nil {
			return err
		}
	} else {
		if err := a.bye(ctx); err != nil {
			log.FromContext(ctx).Info("The last report was not taken", "error", err.Error())
		}
		if err := s.end(ctx, pod, a.rank, *t.Exit, leaderWord(t, a.rank.Attempt, a.sight())); err != nil {
			return err
		}
	}
	a.wrote = true
	s.mu.Lock()
	s.exits[a.rank.Gang] = *t.Exit
	s.mu.Unlock()
	return s.wakeGang(ctx, a.rank.Gang)
}

// follow is what the other ranks do: they train with rank 0, and end as it does.
func (s *Simulator) follow(ctx context.Context, pod *corev1.Pod, rank Rank) (ctrl.Result, error) {
	leader, err := s.leader(ctx, rank.Gang)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := s.clock.Now()
	if exit := s.exitOf(rank.Gang, leader); exit != nil {
		exit := followerExit(*exit)
		return ctrl.Result{}, s.end(ctx, pod, rank, exit, lastWord(exit, rank.Attempt))
	}
	asked := termTime(pod)
	if asked == nil {
		return ctrl.Result{}, nil
	}
	grace := asked.Add(rank.Grace)
	there := leader != nil && leader.Status.Phase == corev1.PodRunning && !s.dead(ctx, leader.Spec.NodeName)
	var exit *Exit
	switch on := rank.Spec.OnSIGTERM; {
	case on == Die:
		exit = &Exit{At: now, Code: 128 + 15, Reason: checkpoint.ExitSignaled, Signal: "SIGTERM"}
	case on != Ignore && !there: // nobody to save with
		exit = &Exit{At: now, Reason: checkpoint.ExitExited}
	case !now.Before(grace):
		exit = &Exit{At: now, Code: 128 + 9, Reason: checkpoint.ExitGraceExceeded, Signal: "SIGKILL"}
	default:
		return s.again(pod, func() (time.Time, bool) { return grace, true }), nil
	}
	return ctrl.Result{}, s.end(ctx, pod, rank, *exit, lastWord(*exit, rank.Attempt))
}

// resolve is `agent resolve`: it leaves the newest complete checkpoint of all attempts.
func (s *Simulator) resolve(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if started := pod.Status.ContainerStatuses[0].State.Running; started != nil {
		if wait := started.StartedAt.Add(resolveTakes).Sub(s.clock.Now()); wait > 0 && pod.DeletionTimestamp == nil {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	word := checkpoint.Termination{Reason: checkpoint.ExitFailed, ExitCode: 2}
	r, err := readResolver(pod)
	if err != nil {
		word.Problem = checkpoint.Printable(err.Error(), 512)
	} else {
		seen := look(s.volume, r.Place, 0, false)
		word = checkpoint.Termination{
			Reason: checkpoint.ExitResolved, Attempt: r.Attempt, Phase: checkpoint.PhaseResolved, Checkpoint: seen.checkpoint,
			Layout: seen.layout, PassedOver: seen.passedOver,
		}
	}
	return ctrl.Result{}, s.write(ctx, pod, ending{code: word.ExitCode, at: s.clock.Now()}, &word)
}

// refuse a pod that says what cannot be played: it ends, and says what is wrong.
func (s *Simulator) refuse(ctx context.Context, pod *corev1.Pod, why error) error {
	word := checkpoint.Termination{Reason: checkpoint.ExitStartFailed, ExitCode: 126, Problem: checkpoint.Printable(why.Error(), 512)}
	c := trainerOf(pod)
	e := ending{container: trainerIndex(pod), code: word.ExitCode, message: word.Problem, at: s.clock.Now()}
	if isWrapped(c) {
		return s.write(ctx, pod, e, &word)
	}
	return s.write(ctx, pod, e, nil)
}

// kill a pod whose own grace is over: nobody is left to say a last word.
func (s *Simulator) kill(ctx context.Context, pod *corev1.Pod, rank Rank) error {
	s.mu.Lock()
	c := s.actors[client.ObjectKeyFromObject(pod)]
	s.mu.Unlock()
	if c != nil {
		c.hush()
	}
	return s.write(ctx, pod, ending{container: rank.Container, code: 128 + 9, at: s.clock.Now()}, nil)
}

// end a rank with the agent's last word, where there is an agent.
func (s *Simulator) end(ctx context.Context, pod *corev1.Pod, rank Rank, exit Exit, word checkpoint.Termination) error {
	e := ending{container: rank.Container, code: exit.Code, at: exit.At, message: exit.Log}
	if rank.Wrapped {
		return s.write(ctx, pod, e, &word)
	}
	return s.write(ctx, pod, e, nil)
}

// write the pod's end, and let it go if somebody wants it gone.
func (s *Simulator) write(ctx context.Context, pod *corev1.Pod, e ending, word *checkpoint.Termination) error {
	if word != nil {
		data, err := checkpoint.Encode(*word)
		if err != nil {
			return fmt.Errorf("making the termination message: %w", err)
		}
		e.message = string(data)
	}
	ended := pod.DeepCopy()
	ended.Status = endedStatus(pod, e)
	patch := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(s.client.Status().Patch(ctx, ended, patch, client.FieldOwner(fieldOwner))); err != nil {
		return fmt.Errorf("ending pod %s: %w", pod.Name, err)
	}
	return s.remove(ctx, ended)
}

// remove a pod that somebody wants gone, as the kubelet does when its containers have ended. Also one without any grace: the API
// server marks that and then deletes it, and a caller that dies between the two leaves it behind (apiserver 1.36,
// pkg/registry/generic/registry/store.go, updateForGracefulDeletionAndFinalizers).
func (s *Simulator) remove(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	err := s.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // gone, or another of its name is there
		return fmt.Errorf("removing pod %s: %w", pod.Name, err)
	}
	return nil
}

// freeze what is played on a node that has died. Who speaks there falls silent.
func (s *Simulator) freeze(pod *corev1.Pod) error {
	s.mu.Lock()
	c := s.actors[client.ObjectKeyFromObject(pod)]
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	c.hush()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trainer.Exit != nil || !c.trainer.Frozen.IsZero() {
		return nil
	}
	now := s.clock.Now()
	t, saves := c.trainer.Advance(now)
	t = t.Freeze(now)
	if err := s.volume.Store(pod.UID, t, c.rank.Place, saves, c.rank.Keep); err != nil {
		return err
	}
	c.trainer = t
	return nil
}

// again when the trainer needs it, or when the pod's grace is over.
func (s *Simulator) again(pod *corev1.Pod, next func() (time.Time, bool)) ctrl.Result {
	at, ok := next()
	if kill := killTime(pod); kill != nil && (!ok || kill.Before(at)) {
		at, ok = *kill, true
	}
	if !ok {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(at.Sub(s.clock.Now()), time.Millisecond)}
}

// dead says whether a node was killed.
func (s *Simulator) dead(ctx context.Context, node string) bool {
	lease := &coordinationv1.Lease{}
	err := s.client.Get(ctx, types.NamespacedName{Namespace: corev1.NamespaceNodeLease, Name: node}, lease)
	return err == nil && lease.Labels[localcluster.LabelKilled] != ""
}

// onFakeNode says whether KWOK plays the pod's node.
func (s *Simulator) onFakeNode(ctx context.Context, pod *corev1.Pod) (bool, error) {
	s.mu.Lock()
	fake, known := s.fake[pod.Spec.NodeName]
	s.mu.Unlock()
	if known {
		return fake, nil
	}
	node := &corev1.Node{}
	if err := s.nodes.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, node); err != nil {
		return false, fmt.Errorf("reading node %s: %w", pod.Spec.NodeName, err)
	}
	fake = localcluster.IsFake(node)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fake[pod.Spec.NodeName] = fake
	return fake, nil
}
