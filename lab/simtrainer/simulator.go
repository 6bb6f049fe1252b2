package simtrainer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// resolveDuration is how long a simulated `agent resolve` takes.
const resolveDuration = time.Second

// Simulator simulates the pods of trainers. It handles one pod per reconcile, and never the same pod twice at
// a time.
type Simulator struct {
	// client reads from the caches and requests tokens.
	client  client.Client
	cluster *clusterReader
	kubelet kubelet
	state   *StateFile
	clock   clock.Clock
	// wake requests a reconcile of a pod.
	wake func(types.NamespacedName)

	mu sync.Mutex
	// leaders by their pod. One with another UID belongs to an earlier pod of the same name.
	leaders map[types.NamespacedName]*leader
	// beating are the pods that post beats.
	beating map[types.NamespacedName]*beating
	// exits of rank 0, by gang: its pod may be gone before the other ranks have ended.
	exits map[string]Exit
}

func newSimulator(
	c client.Client, nodes client.Reader, f *StateFile, clock clock.Clock, wake func(types.NamespacedName),
) *Simulator {
	return &Simulator{
		client: c, cluster: newClusterReader(c, nodes), kubelet: kubelet{c}, state: f, clock: clock, wake: wake,
		leaders: map[types.NamespacedName]*leader{}, beating: map[types.NamespacedName]*beating{},
		exits: map[string]Exit{},
	}
}

// Reconcile simulates one pod.
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
	if !isSimulated(pod) || pod.Spec.NodeName == "" {
		return ctrl.Result{}, nil
	}
	fake, err := s.cluster.isFake(ctx, pod.Spec.NodeName)
	if err != nil || !fake {
		return ctrl.Result{}, err
	}
	switch {
	case s.cluster.isDead(ctx, pod.Spec.NodeName):
		s.stopBeating(req.NamespacedName, "")
		if l := s.leaderOf(pod); l != nil {
			return ctrl.Result{}, l.freeze(s.clock.Now())
		}
		return ctrl.Result{}, nil
	case pod.Status.Phase != corev1.PodRunning:
		s.stopBeating(req.NamespacedName, "")
		return ctrl.Result{}, s.kubelet.removeIfDeleted(ctx, pod)
	case isResolver(pod):
		return s.resolve(ctx, pod)
	}
	return s.runRank(ctx, pod)
}

// runRank simulates a rank whose pod runs.
func (s *Simulator) runRank(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	rank, err := readRank(pod)
	if err != nil {
		return ctrl.Result{}, s.failStart(ctx, pod, err)
	}
	if kill := killTime(pod); kill != nil && !s.clock.Now().Before(*kill) {
		return ctrl.Result{}, s.kill(ctx, pod, rank)
	}
	s.startBeating(context.WithoutCancel(ctx), pod, rank)
	if rank.Number != 0 {
		return s.runFollower(ctx, pod, rank)
	}
	return s.runLeader(ctx, pod, s.ensureLeader(ctx, pod, rank), rank.Spec)
}

// runLeader simulates rank 0: it trains as its annotation says now, reports, and ends when its trainer does.
func (s *Simulator) runLeader(
	ctx context.Context, pod *corev1.Pod, l *leader, spec Spec,
) (ctrl.Result, error) {
	incomplete, err := s.cluster.isIncomplete(ctx, l.rank)
	if err != nil {
		return ctrl.Result{}, err
	}
	t, hasNews, err := l.catchUp(pod, spec, incomplete)
	if err != nil {
		return ctrl.Result{}, err
	}
	if t.Exit != nil {
		return ctrl.Result{}, s.finishLeader(ctx, pod, l, t)
	}
	l.startReporting(context.WithoutCancel(ctx))
	if hasNews {
		l.reportNow()
	}
	return s.requeue(pod, t.Next), nil
}

// finishLeader ends rank 0: a last report, then the pod's status, then the other ranks follow.
func (s *Simulator) finishLeader(ctx context.Context, pod *corev1.Pod, l *leader, t Trainer) error {
	if l.endWritten {
		return s.kubelet.removeIfDeleted(ctx, pod) // the cache has not seen the end yet
	}
	l.stopReporting()
	if t.Exit.Unheard {
		end := podEnd{container: l.rank.Container, code: t.Exit.Code, at: t.Exit.At}
		if err := s.kubelet.endPod(ctx, pod, end); err != nil {
			return err
		}
	} else {
		if err := l.reportLast(ctx); err != nil {
			log.FromContext(ctx).Info("The last report was not taken", "error", err.Error())
		}
		message := leaderTerminationOf(t, l.rank.Attempt, l.checkpoints())
		if err := s.kubelet.endRank(ctx, pod, l.rank, *t.Exit, message); err != nil {
			return err
		}
	}
	l.endWritten = true
	s.mu.Lock()
	s.exits[l.rank.Gang] = *t.Exit
	s.mu.Unlock()
	return s.wakeGang(ctx, l.rank.Gang)
}

// runFollower simulates any other rank: it trains with rank 0, and ends as rank 0 does. Where ranks start
// again alone, it waits for the next rank 0 unless the training is complete.
func (s *Simulator) runFollower(ctx context.Context, pod *corev1.Pod, rank Rank) (ctrl.Result, error) {
	leaderPod, err := s.cluster.leaderPod(ctx, rank.Gang)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := s.clock.Now()
	exit := s.leaderExit(rank.Gang, leaderPod)
	waits := rank.Start != "" && exit != nil && exit.Reason != checkpoint.ExitCompleted
	if exit != nil && !waits && !startedAfter(pod, exit.At) {
		exit := followerExit(*exit)
		return ctrl.Result{}, s.kubelet.endRank(ctx, pod, rank, exit, terminationOf(exit, rank.Attempt))
	}
	terminated := terminationTime(pod)
	if terminated == nil {
		return ctrl.Result{}, nil
	}
	graceEnd := terminated.Add(rank.Grace)
	switch on := rank.Spec.OnSIGTERM; {
	case on == Die:
		exit = &Exit{At: now, Code: 128 + 15, Reason: checkpoint.ExitSignaled, Signal: "SIGTERM"}
	case on != Ignore && (leaderPod == nil || !s.cluster.isRunning(ctx, leaderPod)):
		// Only rank 0 saves.
		exit = &Exit{At: now, Reason: checkpoint.ExitExited}
	case !now.Before(graceEnd):
		exit = &Exit{At: now, Code: 128 + 9, Reason: checkpoint.ExitGraceExceeded, Signal: "SIGKILL"}
	default:
		return s.requeue(pod, func() (time.Time, bool) { return graceEnd, true }), nil
	}
	return ctrl.Result{}, s.kubelet.endRank(ctx, pod, rank, *exit, terminationOf(*exit, rank.Attempt))
}

// startedAfter reports whether a pod started after a time. A gang that was lost while the operator was down
// can start again in the same attempt, and the first end does not count for the second start. The API server
// keeps whole seconds.
func startedAfter(pod *corev1.Pod, at time.Time) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && c.State.Running.StartedAt.After(at) {
			return true
		}
	}
	return false
}

// leaderExit returns how rank 0 of a gang ended; nil if it has not ended or its end was not observed.
func (s *Simulator) leaderExit(gang string, leaderPod *corev1.Pod) *Exit {
	s.mu.Lock()
	exit, ok := s.exits[gang]
	s.mu.Unlock()
	if ok {
		return &exit
	}
	return exitFromStatus(leaderPod)
}

// resolve simulates `agent resolve`.
func (s *Simulator) resolve(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if started := pod.Status.ContainerStatuses[0].State.Running; started != nil {
		wait := started.StartedAt.Add(resolveDuration).Sub(s.clock.Now())
		if wait > 0 && pod.DeletionTimestamp == nil {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	message := resolverTerminationOf(s.state, pod)
	end := podEnd{code: message.ExitCode, at: s.clock.Now()}
	return ctrl.Result{}, s.kubelet.endWithMessage(ctx, pod, end, message)
}

// failStart ends a pod that cannot be simulated. Its termination message says why.
func (s *Simulator) failStart(ctx context.Context, pod *corev1.Pod, why error) error {
	message := checkpoint.Termination{
		Reason: checkpoint.ExitStartFailed, ExitCode: 126, Problem: checkpoint.Printable(why.Error(), 512),
	}
	end := podEnd{
		container: trainerIndex(pod), code: message.ExitCode, message: message.Problem, at: s.clock.Now(),
	}
	if isWrapped(trainerOf(pod)) {
		return s.kubelet.endWithMessage(ctx, pod, end, message)
	}
	return s.kubelet.endPod(ctx, pod, end)
}

// kill ends a pod whose grace period is over. Its agent is killed too, so there is no termination message.
func (s *Simulator) kill(ctx context.Context, pod *corev1.Pod, rank Rank) error {
	if l := s.leaderOf(pod); l != nil {
		l.stopReporting()
	}
	return s.kubelet.endPod(ctx, pod, podEnd{container: rank.Container, code: 128 + 9, at: s.clock.Now()})
}

// requeue reconciles the pod again at the next event, and no later than at the end of the pod's grace period.
func (s *Simulator) requeue(pod *corev1.Pod, next func() (time.Time, bool)) ctrl.Result {
	at, ok := next()
	if kill := killTime(pod); kill != nil && (!ok || kill.Before(at)) {
		at, ok = *kill, true
	}
	if !ok {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(at.Sub(s.clock.Now()), time.Millisecond)}
}

// leaderOf returns the leader of a pod; nil if there is none.
func (s *Simulator) leaderOf(pod *corev1.Pod) *leader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaders[client.ObjectKeyFromObject(pod)]
}

// ensureLeader returns the leader of a pod of rank 0, and creates it if there is none.
func (s *Simulator) ensureLeader(ctx context.Context, pod *corev1.Pod, rank Rank) *leader {
	if l := s.leaderOf(pod); l != nil {
		return l
	}
	key := client.ObjectKeyFromObject(pod)
	l := newLeader(pod, rank, s.state, s.clock, s.client, log.FromContext(ctx), func() { s.wake(key) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaders[key] = l
	return l
}

// forget removes the leader of a pod that is gone, or that was replaced by a pod of another UID.
func (s *Simulator) forget(ctx context.Context, key types.NamespacedName, current types.UID) error {
	s.stopBeating(key, current)
	s.mu.Lock()
	l := s.leaders[key]
	s.mu.Unlock()
	if l == nil || l.uid == current {
		return nil
	}
	l.stopReporting()
	if err := s.state.Forget(l.uid); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leaders, key)
	for gang := range s.exits { // an exit is needed as long as there are ranks to follow it
		if pods, err := s.cluster.gangPods(ctx, gang); err == nil && len(pods) == 0 {
			delete(s.exits, gang)
		}
	}
	return nil
}

// wakeGang requests a reconcile of all pods of a gang.
func (s *Simulator) wakeGang(ctx context.Context, gang string) error {
	pods, err := s.cluster.gangPods(ctx, gang)
	if err != nil {
		return err
	}
	for i := range pods {
		s.wake(client.ObjectKeyFromObject(&pods[i]))
	}
	return nil
}

// Close stops all reporting.
func (s *Simulator) Close() {
	s.mu.Lock()
	keys := slices.Collect(maps.Keys(s.beating))
	s.mu.Unlock()
	for _, key := range keys {
		s.stopBeating(key, "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leaders {
		l.stopReporting()
	}
}
