//go:build cluster

package reasons

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	onVolcano = v1alpha1.SchedulerVolcano
	onNative  = v1alpha1.SchedulerNative
)

var both = []v1alpha1.SchedulerName{onVolcano, onNative}

// provocation is a case for one reason.
type provocation struct {
	reason string
	on     []v1alpha1.SchedulerName
	nodes  int
	// provoke creates the conditions for the reason and the job bert.
	provoke func(*fixture)
	// object, need and free that the blocker must have; "%s" in object is the namespace.
	object     string
	need, free corev1.ResourceList
	// remove the cause, after which the job must run; nil if that is impossible.
	remove func(*fixture)
}

func gpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{gpu: *resource.NewQuantity(n, resource.DecimalSI)}
}

func inQueue(p *fixture) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Queue = p.Name }
}

func queueObject() string { return "queues.scheduling.volcano.sh/%s" }

// WaitingBehind is missing here: neither scheduler holds a gang that fits back in favor of another waiting
// one (Volcano v1.15.1 ignores the field dequeueStrategy of its queues). list_test.go lists the reasons that
// are provoked elsewhere.
var provocations = map[string]provocation{
	"queue does not exist": {
		reason: v1alpha1.ReasonQueueNotFound, on: both[:1], nodes: 1, object: queueObject(),
		provoke: func(p *fixture) { p.Job("bert", 2, "1", inQueue(p)) },
		remove:  func(p *fixture) { p.queue() },
	},
	"queue is closed": {
		reason: v1alpha1.ReasonQueueClosed, on: both[:1], nodes: 1, object: queueObject(),
		provoke: func(p *fixture) {
			q := p.queue()
			p.operate(q, "CloseQueue")
			p.Until("the queue is closed", func(ctx context.Context) (string, error) {
				err := p.Client.Get(ctx, client.ObjectKeyFromObject(q), q)
				if err == nil && q.Status.State != volcanov1beta1.QueueStateClosed {
					return string(q.Status.State), nil
				}
				return "", err
			})
			p.Job("bert", 2, "1", inQueue(p))
		},
		remove: func(p *fixture) {
			q := &volcanov1beta1.Queue{}
			if err := p.Client.Get(p.T.Context(), client.ObjectKey{Name: p.Name}, q); err != nil {
				p.T.Fatal(err)
			}
			p.operate(q, "OpenQueue")
		},
	},
	"queue's quota is used up": {
		reason: v1alpha1.ReasonQuotaExceeded, on: both[:1], nodes: 2, object: queueObject(), need: gpus(4),
		free: gpus(2),
		provoke: func(p *fixture) {
			p.queue(capability(8))
			p.holder(3, "2", inQueue(p))
			p.Job("bert", 2, "2", inQueue(p))
		},
		remove: (*fixture).endHolder,
	},
	"more than the queue's whole quota": {
		reason: v1alpha1.ReasonExceedsQuota, on: both[:1], nodes: 1, object: queueObject(), need: gpus(6),
		free:    gpus(4),
		provoke: func(p *fixture) { p.queue(capability(4)); p.Job("bert", 3, "2", inQueue(p)) },
		remove: func(p *fixture) {
			q := &volcanov1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
			if err := p.Client.Patch(p.T.Context(), q, client.RawPatch("application/merge-patch+json",
				[]byte(`{"spec":{"capability":{"nvidia.com/gpu":"8"}}}`))); err != nil {
				p.T.Fatal(err)
			}
		},
	},
	"namespace's quota is used up": {
		reason: v1alpha1.ReasonQuotaExceeded, on: both[1:], nodes: 2, object: "resourcequotas/gpus",
		provoke: func(p *fixture) { p.quota("8"); p.holder(3, "2"); p.counted("6"); p.Job("bert", 2, "2") },
		remove:  (*fixture).endHolder,
	},
	"more than the namespace's whole quota": {
		reason: v1alpha1.ReasonExceedsQuota, on: both, nodes: 1, object: "resourcequotas/gpus", need: gpus(6),
		provoke: func(p *fixture) { p.quota("4"); p.Job("bert", 3, "2") },
	},
	"priority class does not exist": {
		reason: v1alpha1.ReasonPriorityClassNotFound, on: both, nodes: 1, object: "priorityclasses/%s",
		provoke: func(p *fixture) {
			p.Job("bert", 2, "1", func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = p.Name
			})
		},
	},
	"name is taken": {
		reason: v1alpha1.ReasonNameTaken, on: both, nodes: 1, object: "pods/bert-worker-0",
		provoke: func(p *fixture) {
			p.Create(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "bert-worker-0"},
				Spec: corev1.PodSpec{SchedulerName: "missing",
					Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
			})
			p.Job("bert", 2, "1")
		},
		remove: func(p *fixture) {
			p.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "bert-worker-0"}})
		},
	},
	"pod is refused": {
		reason: v1alpha1.ReasonPodRejected, on: both[1:], nodes: 1,
		provoke: func(p *fixture) {
			p.Create(&corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "small"},
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
					Type: corev1.LimitTypePod, Max: corev1.ResourceList{gpu: resource.MustParse("1")},
				}}},
			})
			p.Job("bert", 2, "2")
		},
	},
	"node selector matches nothing": {
		reason: v1alpha1.ReasonNoNodeMatches, on: both, nodes: 1,
		provoke: func(p *fixture) {
			p.Job("bert", 2, "1", func(j *v1alpha1.TrainingJob) { j.Spec.NodeSelector["disk"] = "fast" })
		},
		remove: func(p *fixture) { p.patchNode(0, `{"metadata":{"labels":{"disk":"fast"}}}`) },
	},
	"taint is not tolerated": {
		reason: v1alpha1.ReasonNoNodeMatches, on: both, nodes: 1,
		provoke: func(p *fixture) {
			p.Job("bert", 2, "1", func(j *v1alpha1.TrainingJob) { j.Spec.Tolerations = nil })
		},
		remove: func(p *fixture) { p.patchNode(0, `{"spec":{"taints":null}}`) },
	},
	"no node is large enough": {
		reason: v1alpha1.ReasonNoNodeLargeEnough, on: both, nodes: 1, need: gpus(16), free: gpus(8),
		provoke: func(p *fixture) { p.Job("bert", 1, "16") },
	},
	"more than all nodes have": {
		reason: v1alpha1.ReasonExceedsCluster, on: both, nodes: 1, need: gpus(16), free: gpus(8),
		provoke: func(p *fixture) { p.Job("bert", 4, "4") },
		remove:  func(p *fixture) { p.Node(1) },
	},
	"too little is free": {
		reason: v1alpha1.ReasonInsufficientResources, on: both, nodes: 2, need: gpus(16), free: gpus(12),
		provoke: func(p *fixture) { p.holder(1, "4"); p.Job("bert", 4, "4") },
		remove:  (*fixture).endHolder,
	},
	"volume claim is missing": {
		reason: v1alpha1.ReasonVolumeUnbound, on: both, nodes: 1, object: "persistentvolumeclaims/data",
		provoke: func(p *fixture) { p.Job("bert", 2, "1", withClaim) },
	},
	"volume claim is not bound": {
		reason: v1alpha1.ReasonVolumeUnbound, on: both, nodes: 1, object: "persistentvolumeclaims/data",
		provoke: func(p *fixture) { p.claim(); p.Job("bert", 2, "1", withClaim) },
	},
	"image cannot be pulled": {
		reason: v1alpha1.ReasonImagePullFailed, on: both, nodes: 1, provoke: failToPull,
	},
	"container cannot be configured": {
		reason: v1alpha1.ReasonContainerNotStarted, on: both, nodes: 1, provoke: failToConfigure,
	},
	"slow start": {
		reason: v1alpha1.ReasonContainerCreating, on: both[:1], nodes: 1, provoke: startSlowly,
	},
	"only the scheduler knows": {
		reason: v1alpha1.ReasonUnschedulable, on: both, nodes: 1,
		provoke: func(p *fixture) { p.Job("bert", 2, "1", apart) },
		remove:  func(p *fixture) { p.Node(1) },
	},
	"scheduler is not installed": {
		reason: v1alpha1.ReasonSchedulerMissing, on: []v1alpha1.SchedulerName{v1alpha1.SchedulerCoscheduling},
		nodes:   1,
		provoke: func(p *fixture) { p.Job("bert", 2, "1") },
	},
	"group is refused": {
		reason: v1alpha1.ReasonGroupRejected, on: both, nodes: 1,
		provoke: func(p *fixture) { p.limit("no-groups", p.groupsOf(), "0"); p.Job("bert", 2, "1") },
		remove: func(p *fixture) {
			p.Delete(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "no-groups"}})
		},
	},
	"node is lost": {
		reason: v1alpha1.ReasonNodeLost, on: both, nodes: 3, provoke: loseNode, remove: nodesAreOff,
	},
	"no agent is configured": {
		reason: v1alpha1.ReasonAgentNotConfigured, on: both, nodes: 1,
		provoke: func(p *fixture) {
			p.Job("bert", 2, "1", func(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{} })
		},
		remove: func(p *fixture) {
			p.MergePatch(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name,
				Name: "bert"}}, `{"spec":{"checkpoint":null}}`)
		},
	},
	"group is going": {
		reason: v1alpha1.ReasonTerminating, on: both[:1], nodes: 1,
		provoke: func(p *fixture) {
			p.holder(1, "8")
			p.Job("bert", 2, "1")
			p.Says("bert", v1alpha1.ReasonInsufficientResources)
			p.editGroup("bert", func(g *volcanov1beta1.PodGroup) { g.Finalizers = []string{"example.com/keep"} })
			p.Delete(&volcanov1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "bert"}})
		},
		remove: func(p *fixture) {
			p.editGroup("bert", func(g *volcanov1beta1.PodGroup) { g.Finalizers = nil })
			p.endHolder()
		},
	},
}

func TestReasons(t *testing.T) {
	for name, c := range provocations {
		for _, s := range c.on {
			t.Run(fmt.Sprintf("%s on %s", name, s), func(t *testing.T) {
				t.Parallel()
				c.run(newFixture(t, s, c.nodes))
			})
		}
	}
}

func (c provocation) run(p *fixture) {
	c.provoke(p)
	p.Says("bert", c.reason)
	p.reportedOnce("bert", c.reason) // the reason that every new job has emits no event
	b := p.Says("bert", c.reason)
	c.judge(p, b)
	p.lookAgain("bert")
	p.reportedOnce("bert", c.reason)
	if after := p.Says("bert", c.reason); !after.ObservedTime.Equal(b.ObservedTime) &&
		after.Message == b.Message {
		p.T.Errorf("the same was written again: %+v", after)
	}
	p.T.Logf("%s: %s; %s", b.Reason, b.Message, b.NextStep)
	if c.reason == v1alpha1.ReasonImagePullFailed && !strings.Contains(b.Message, "example.com/trainer:1") {
		p.T.Errorf("it does not name the image: %s", b.Message)
	}
	if c.remove != nil {
		c.remove(p)
		p.Reaches("bert", v1alpha1.PhaseRunning)
		if got := p.Column("bert"); got != "" && got != "<nil>" {
			p.T.Errorf("it runs, and REASON is %q", got)
		}
	}
}

// judge what the user sees.
func (c provocation) judge(p *fixture, b v1alpha1.Blocker) {
	object := c.object
	if object == "priorityclasses/%s" || object == queueObject() {
		object = fmt.Sprintf(object, p.Name)
	}
	if b.Object != object || b.Message == "" || b.ObservedTime == nil {
		p.T.Errorf("want object %q and a message, got %+v", object, b)
	}
	for what, pair := range map[string][2]corev1.ResourceList{"need": {c.need, b.Need},
		"free": {c.free, b.Free}} {
		if want, got := pair[0][gpu], pair[1][gpu]; pair[0] != nil && want.Cmp(got) != 0 {
			p.T.Errorf("%s is %s, want %s: %s", what, got.String(), want.String(), b.Message)
		}
	}
	if got := p.Column("bert"); got != c.reason {
		p.T.Errorf("column REASON is %q", got)
	}
	admitted := []string{
		v1alpha1.ReasonImagePullFailed, v1alpha1.ReasonContainerNotStarted, v1alpha1.ReasonContainerCreating,
	}
	if slices.Contains(admitted, c.reason) {
		return
	}
	j, err := p.Get(p.T.Context(), "bert")
	if err != nil {
		p.T.Fatal(err)
	}
	if a := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.ConditionAdmitted); a == nil ||
		a.Status != metav1.ConditionFalse || a.Reason != c.reason {
		p.T.Errorf("condition Admitted is %+v", a)
	}
}

// reportedOnce checks that there is one event and no series.
func (p *fixture) reportedOnce(job, reason string) {
	p.T.Helper()
	p.Until("the event is there", func(ctx context.Context) (string, error) {
		found, err := p.Events(ctx, job, reason)
		switch {
		case err != nil || len(found) == 0:
			return "no event " + reason, err
		case len(found) > 1 || found[0].Series != nil:
			p.T.Errorf("reported more than once: %+v", found)
		}
		return "", nil
	})
}

// lookAgain makes the operator reconcile the job without a change for the scheduler.
func (p *fixture) lookAgain(name string) {
	p.T.Helper()
	for i := range int32(3) {
		j := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: name}}
		patch := fmt.Sprintf(`{"spec":{"runPolicy":{"ttlSecondsAfterFinished":%d}}}`, 1000+i)
		if err := p.Client.Patch(p.T.Context(), j, client.RawPatch("application/merge-patch+json",
			[]byte(patch))); err != nil {
			p.T.Fatal(err)
		}
		p.Until("the operator has looked", func(ctx context.Context) (string, error) {
			j, err := p.Get(ctx, name)
			if err == nil && j.Status.ObservedGeneration != j.Generation {
				return "not yet", nil
			}
			return "", err
		})
	}
}

// TestGroupChangedByHand: a group that is edited or deleted by hand is repaired, and the running gang is not
// disturbed.
func TestGroupChangedByHand(t *testing.T) {
	t.Parallel()
	p := newFixture(t, onVolcano, 1)
	p.Job("bert", 2, "1")
	p.Reaches("bert", v1alpha1.PhaseRunning)
	p.editGroup("bert", func(g *volcanov1beta1.PodGroup) { g.Spec.MinMember = 1 })
	g := &volcanov1beta1.PodGroup{}
	p.Until("what was edited is as it was", func(ctx context.Context) (string, error) {
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: "bert"}, g)
		if err == nil && g.Spec.MinMember != 2 {
			return fmt.Sprint(g.Spec.MinMember), nil
		}
		return "", err
	})
	first := g.UID
	p.Delete(g)
	p.Until("what was deleted is there again", func(ctx context.Context) (string, error) {
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: "bert"}, g)
		if err != nil || g.UID == first {
			return "the first one, or none", client.IgnoreNotFound(err)
		}
		return "", nil
	})
	j, err := p.Get(t.Context(), "bert")
	if err != nil || j.Status.Phase != v1alpha1.PhaseRunning || j.Status.Attempt != 1 {
		t.Errorf("it ran all the time: %+v, %v", j.Status, err)
	}
}
