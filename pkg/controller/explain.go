package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// bindCompleted is the annotation by which a claim's metadata alone tell that it is bound
// (k8s.io/component-helpers/storage/volume, AnnBindCompleted).
const bindCompleted = "pv.kubernetes.io/bind-completed"

// explainer explains why a gang waits.
type explainer struct {
	state  *backends.ClusterState
	states *memory.JobStates
	live   memory.LiveReader
	// autoscaler is nil where it is not known whether there is one.
	autoscaler *backends.Autoscaler
	// nameOthers lets an explanation name jobs of other namespaces.
	nameOthers bool
	// since when this process follows the cluster.
	since time.Time
}

// clusterUnknown returns the Snapshot's. Where something can never be listed, it is true for as long as the
// first lists may take.
func (e *explainer) clusterUnknown(s *memory.Observed) bool {
	return e.state != nil && s.Job.Status.Phase == v1alpha1.PhaseQueued &&
		s.Now.Sub(e.since) < firstLists && !e.state.Known()
}

// explain returns the Snapshot's Why; nil: the job does not wait for its scheduler. Nothing is computed until
// it is called.
func (e *explainer) explain(ctx context.Context, s *memory.Observed) func() (scheduler.Explanation, bool) {
	if e.state == nil || s.Backend == nil || len(s.SchedulerGang().Roles) == 0 ||
		s.Job.Status.Phase != v1alpha1.PhaseQueued {
		return nil
	}
	claims := e.claims(ctx, s)
	return sync.OnceValues(func() (scheduler.Explanation, bool) {
		state := e.stateFor(s)
		state.Claims = claims
		gang := s.SchedulerGang()
		gang.Woken = s.Woken.Times
		return scheduler.Explain(s.Backend, gang, s.GroupObjects(), s.Verdict, state)
	})
}

// stateFor returns the state of the cluster as it concerns a gang, without its claims.
func (e *explainer) stateFor(s *memory.Observed) scheduler.ClusterState {
	state := e.state.State()
	state.Self = e.state.Waiter(client.ObjectKeyFromObject(s.Job), backends.JobOf(s.Job))
	state.Ahead = e.state.Ahead(state.Self)
	state.Bound = boundRanks(s)
	if !e.nameOthers {
		state.NamesOf = s.Job.Namespace
	}
	return state
}

// boundRanks counts the gang's ranks that have a node, by role.
func boundRanks(s *memory.Observed) map[string]int32 {
	bound, gang := map[string]int32{}, s.SchedulerGang()
	for _, pod := range s.Pods {
		if role, ok := gang.RoleOf(pod); ok && pod.Spec.NodeName != "" && !observation.Ended(pod) {
			bound[role.Name]++
		}
	}
	return bound
}

// unplaceable returns the Snapshot's Unplaceable; nil: the gang's pods are created only after its scheduler
// has admitted it.
func (e *explainer) unplaceable(s *memory.Observed) func() (scheduler.Explanation, bool) {
	if e.state == nil || !scheduler.Of(s.Backend).PodsFirst ||
		len(s.SchedulerGang().Roles) == 0 || s.Job.Status.Phase != v1alpha1.PhaseQueued {
		return nil
	}
	return sync.OnceValues(func() (scheduler.Explanation, bool) {
		gang, bound := s.SchedulerGang(), boundRanks(s)
		if why, never := scheduler.NotAdmissible(s.Backend, gang, bound, e.state.Objects()); never {
			return why, true
		}
		if why, held := heldBefore(s); held && !backends.WaitsForNodes(s.Job) && e.clusterUnknown(s) {
			return why, true
		}
		if !e.autoscaler.IsAbsent() {
			return scheduler.Explanation{}, false // its pods may bring nodes
		}
		empty := e.state.Empty()
		if !empty.Complete {
			return heldBefore(s)
		}
		empty.Bound = bound
		if _, unplaceable := scheduler.Unplaceable(gang, s.Verdict, empty); !unplaceable {
			return scheduler.Explanation{}, false
		}
		why, unplaceable := scheduler.Unplaceable(gang, s.Verdict, e.stateFor(s)) // with what is free
		if unplaceable {
			why.NextStep += noAutoscaler
		}
		return why, unplaceable
	})
}

// noAutoscaler is added to the next step of a gang that gets no pods because of the nodes.
const noAutoscaler = "; if an autoscaler can add nodes for it, an admin sets nodeAutoscaler: present in " +
	"the operator's configuration"

// heldBefore returns why a gang without pods was held back by the process before this one, which does not
// know all nodes yet: otherwise each start of the operator would create the pods and delete them again.
func heldBefore(s *memory.Observed) (scheduler.Explanation, bool) {
	if !backends.WaitsWithoutPods(s.Job) || len(s.Pods) > 0 {
		return scheduler.Explanation{}, false
	}
	b := s.Job.Status.Scheduling.Blocker
	return scheduler.Explanation{
		Reason: b.Reason, Object: b.Object, Message: b.Message, NextStep: b.NextStep, Need: b.Need, Free: b.Free,
	}, true
}

// claims returns the claims that the pods of a gang mount, read live and as metadata: they are few, they
// matter only while a job waits for long, and a watch of all claims would need more rights. What was read not
// long ago is not read again (see memory.ClaimTTL). What cannot be read is left out.
func (e *explainer) claims(ctx context.Context, s *memory.Observed) []scheduler.Claim {
	ts := s.Job.Status.Transitions
	if n := len(ts); n == 0 || s.Now.Sub(ts[n-1].Time.Time) < observation.ReasonDelay(s.Job) {
		return nil // a job that starts at once needs no explanation
	}
	var claims []scheduler.Claim
	for _, name := range e.claimNames(s) {
		claim, known := e.states.Claim(s.Job.UID, name)
		if !known {
			read := &metav1.PartialObjectMetadata{}
			read.SetGroupVersionKind(memory.ClaimKind)
			err := e.live.Get(ctx, types.NamespacedName{Namespace: s.Job.Namespace, Name: name}, read)
			if client.IgnoreNotFound(err) != nil {
				log.FromContext(ctx).V(1).Info(
					"Cannot read a claim of a job that waits", "claim", name, "error", err.Error())
				continue
			}
			claim = scheduler.Claim{
				Name: name, Exists: !apierrors.IsNotFound(err), Bound: read.Annotations[bindCompleted] == "yes",
			}
			e.states.SetClaim(s.Job.UID, claim)
		}
		claims = append(claims, claim)
	}
	return claims
}

func (e *explainer) claimNames(s *memory.Observed) []string {
	var names []string
	for _, role := range s.SchedulerGang().Roles {
		for _, v := range role.Template.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				names = append(names, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	// A claim that the operator creates exists from the first attempt that was admitted, and may not be bound.
	created := e.states.ClaimSeen(s.Job.UID, s.Job.Status.Attempt)
	if c := spec.Checkpoints(s.Job); c != nil && c.URI == "" && (c.PVC.ClaimName != "" || created) {
		names = append(names, spec.ClaimName(s.Job))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
