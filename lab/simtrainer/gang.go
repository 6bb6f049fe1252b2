package simtrainer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// actor of a pod of rank 0.
func (s *Simulator) actor(ctx context.Context, pod *corev1.Pod, rank Rank) (*actor, error) {
	key := client.ObjectKeyFromObject(pod)
	s.mu.Lock()
	c := s.actors[key]
	s.mu.Unlock()
	if c != nil {
		return c.actor, nil
	}
	a, err := newActor(pod, rank, s.volume, s.clock, s.client, log.FromContext(ctx), func() { s.wake(key) })
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actors[key] = &cast{pod.UID, rank.Gang, a}
	return a, nil
}

// forget who played a pod that is gone, or that has a successor of the given UID.
func (s *Simulator) forget(ctx context.Context, key types.NamespacedName, successor types.UID) error {
	s.mu.Lock()
	c := s.actors[key]
	s.mu.Unlock()
	if c == nil || c.uid == successor {
		return nil
	}
	c.hush()
	if err := s.volume.Forget(c.uid); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.actors, key)
	for gang := range s.exits { // nobody is left to follow them
		if pods, err := s.gang(ctx, gang); err == nil && len(pods) == 0 {
			delete(s.exits, gang)
		}
	}
	return nil
}

// Close ends all reports.
func (s *Simulator) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.actors {
		c.hush()
	}
}

// gang is all pods of one.
func (s *Simulator) gang(ctx context.Context, gang string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods, client.MatchingFields{indexGang: gang}); err != nil {
		return nil, fmt.Errorf("listing the ranks of a gang: %w", err)
	}
	return pods.Items, nil
}

// leader of a gang; nil: its pod is not there.
func (s *Simulator) leader(ctx context.Context, gang string) (*corev1.Pod, error) {
	pods, err := s.gang(ctx, gang)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if isLeader(&pods[i]) {
			return &pods[i], nil
		}
	}
	return nil, nil
}

// missing says whether a rank of the gang does not run: none can train without it.
func (s *Simulator) missing(ctx context.Context, rank Rank) (bool, error) {
	pods, err := s.gang(ctx, rank.Gang)
	if err != nil {
		return false, err
	}
	running := int32(0)
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning && !s.dead(ctx, pods[i].Spec.NodeName) {
			running++
		}
	}
	return running < rank.World, nil
}

// exitOf rank 0; nil: it has not ended, or nobody has seen how.
func (s *Simulator) exitOf(gang string, leader *corev1.Pod) *Exit {
	s.mu.Lock()
	exit, ok := s.exits[gang]
	s.mu.Unlock()
	if ok {
		return &exit
	}
	if leader == nil || !hasEnded(leader) {
		return nil
	}
	name := trainerOf(leader).Name
	for _, c := range leader.Status.ContainerStatuses {
		if ended := c.State.Terminated; c.Name == name && ended != nil {
			exit := Exit{At: ended.FinishedAt.Time, Code: ended.ExitCode, Reason: checkpoint.ExitExited}
			if word, err := checkpoint.ParseTermination([]byte(ended.Message)); err == nil {
				exit.Reason, exit.Signal = word.Reason, word.Signal
			}
			return &exit
		}
	}
	return nil
}

// wakeGang has all pods of a gang looked at again.
func (s *Simulator) wakeGang(ctx context.Context, gang string) error {
	pods, err := s.gang(ctx, gang)
	if err != nil {
		return err
	}
	for i := range pods {
		s.wake(client.ObjectKeyFromObject(&pods[i]))
	}
	return nil
}
