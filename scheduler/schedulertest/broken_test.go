package schedulertest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
)

// model is the smallest backend that keeps every promise, in an invented dialect on ConfigMaps: data.min is
// the minimum and data.state what the scheduler wrote. Each hook breaks one promise.
type model struct {
	kinds    func() []schema.GroupVersionKind
	objects  func(scheduler.Gang, *corev1.ConfigMap)
	read     func(scheduler.Gang, []client.Object, scheduler.Verdict) scheduler.Verdict
	join     func(*corev1.Pod, scheduler.Gang)
	validate func(scheduler.Gang) field.ErrorList
	traits   func() scheduler.Traits
}

const groupAnnotation = "model.example.com/group"

func (model) Name() string { return "model" }

func (m model) Traits() scheduler.Traits {
	if m.traits != nil {
		return m.traits()
	}
	return scheduler.Traits{}
}

func (m model) Kinds() []schema.GroupVersionKind {
	if m.kinds != nil {
		return m.kinds()
	}
	return []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}
}

func (m model) Validate(g scheduler.Gang) field.ErrorList {
	if m.validate != nil {
		return m.validate(g)
	}
	if g.Queue != "" {
		return field.ErrorList{
			field.Forbidden(field.NewPath(scheduler.PathQueue), "there are no queues: remove it"),
		}
	}
	return nil
}

func (m model) Objects(g scheduler.Gang) ([]client.Object, error) {
	group := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: g.ObjectMeta(g.Name),
		Data:       map[string]string{"min": fmt.Sprint(g.MinAvailable)},
	}
	if m.objects != nil {
		m.objects(g, group)
	}
	return []client.Object{group}, nil
}

func (m model) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	v := scheduler.Verdict{Admission: scheduler.Hold}
	for _, o := range objs {
		group, ok := o.(*corev1.ConfigMap)
		if !ok || len(group.Data) == 0 {
			continue
		}
		switch {
		case g.HasPods || group.Data["state"] == "come":
			v = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
		default:
			v.Reason, v.Message = "Full", "the cluster is full"
		}
	}
	if m.read != nil {
		return m.read(g, objs, v)
	}
	return v
}

func (m model) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	pod.Spec.SchedulerName = "model"
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, groupAnnotation, g.Name)
	g.JoinPriority(pod)
	if m.join != nil {
		m.join(pod, g)
	}
}

// syncingModel is a model that is a QuotaSystem.
type syncingModel struct {
	model
	stubs.NoQuotas
	sync func([]client.Object) []scheduler.Write
}

func (m syncingModel) SyncStatus(
	_ scheduler.Gang, _ scheduler.GangStatus, objs []client.Object,
) []scheduler.Write {
	if m.sync != nil {
		return m.sync(objs)
	}
	return nil
}

func dialect() schedulertest.Dialect {
	leaves := func(state string, invites bool) schedulertest.GroupState {
		return schedulertest.GroupState{Name: state, Invites: invites, Write: func(o client.Object, n int) {
			o.(*corev1.ConfigMap).Data["state"] = state
			o.(*corev1.ConfigMap).Data["session"] = fmt.Sprint(n)
		}}
	}
	return schedulertest.Dialect{
		MinMember: func(o client.Object) int32 {
			var n int32
			fmt.Sscan(o.(*corev1.ConfigMap).Data["min"], &n)
			return n
		},
		GroupOf: func(p *corev1.Pod) string { return p.Annotations[groupAnnotation] },
		GroupStates: []schedulertest.GroupState{
			leaves("full", false), leaves("come", true), leaves("runs", false),
		},
		UnsupportedGangs: []schedulertest.UnsupportedGang{{Name: "queue", Path: scheduler.PathQueue, Change: func(
			g *scheduler.Gang,
		) {
			g.Queue = "q"
		}}},
	}
}

func TestModelKeepsEveryPromise(t *testing.T) { schedulertest.Run(t, model{}, dialect()) }

func TestSyncingModelKeepsEveryPromise(t *testing.T) {
	schedulertest.Run(t, syncingModel{}, dialect())
}

// Each backend breaks one promise, and only the check of that promise finds it.
func TestEachCheckCanFail(t *testing.T) {
	cases := map[schedulertest.Promise]struct {
		reason string
		broken scheduler.Backend
	}{
		schedulertest.DeclaredKinds: {
			reason: "creates a kind that it does not declare",
			broken: model{kinds: func() []schema.GroupVersionKind {
				return []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}}
			}},
		},
		schedulertest.Deterministic: {
			reason: "joins the roles in the order of a Go map",
			broken: model{objects: func(_ scheduler.Gang, c *corev1.ConfigMap) {
				c.Data["roles"] = fmt.Sprint(rand.Int())
			}},
		},
		schedulertest.Settles: {
			reason: "copies what the scheduler wrote",
			broken: model{objects: func(g scheduler.Gang, c *corev1.ConfigMap) {
				for _, o := range g.Existing {
					c.Data["seen"] = o.(*corev1.ConfigMap).Data["state"]
				}
			}},
		},
		schedulertest.LeavesGangAlone: {
			reason: "hands out the gang's own label map",
			broken: model{objects: func(g scheduler.Gang, c *corev1.ConfigMap) { c.Labels = g.Labels }},
		},
		schedulertest.Owned: {
			reason: "sets no owner",
			broken: model{objects: func(_ scheduler.Gang, c *corev1.ConfigMap) { c.OwnerReferences = nil }},
		},
		schedulertest.ShortNames: {
			reason: "appends a suffix that is too long for the longest job name",
			broken: model{
				objects: func(_ scheduler.Gang, c *corev1.ConfigMap) { c.Name += "-gang-of-ranks" },
				join: func(p *corev1.Pod, g scheduler.Gang) {
					p.Annotations[groupAnnotation] = g.Name + "-gang-of-ranks"
				},
			},
		},
		schedulertest.SpecOnly: {
			reason: "applies what the API server writes",
			broken: model{objects: func(_ scheduler.Gang, c *corev1.ConfigMap) { c.ResourceVersion = "1" }},
		},
		schedulertest.WholeMinimum: {
			reason: "demands all ranks regardless of minAvailable",
			broken: model{objects: func(g scheduler.Gang, c *corev1.ConfigMap) {
				c.Data["min"] = fmt.Sprint(g.Ranks())
			}},
		},
		schedulertest.Attempts: {
			reason: "names its group by the attempt without declaring it",
			broken: model{
				objects: func(g scheduler.Gang, c *corev1.ConfigMap) { c.Name = ofAttempt(g) },
				join: func(p *corev1.Pod, g scheduler.Gang) {
					p.Annotations[groupAnnotation] = ofAttempt(g)
				},
			},
		},
		schedulertest.JoinIdempotent: {
			reason: "appends a toleration at every join",
			broken: model{join: func(p *corev1.Pod, _ scheduler.Gang) {
				p.Spec.Tolerations = append(p.Spec.Tolerations,
					corev1.Toleration{Key: "gpu", Operator: "Exists"})
			}},
		},
		schedulertest.JoinModest: {
			reason: "changes the restart policy of the rank",
			broken: model{join: func(p *corev1.Pod, _ scheduler.Gang) {
				p.Spec.RestartPolicy = corev1.RestartPolicyAlways
			}},
		},
		schedulertest.JoinsGroup: {
			reason: "joins a group that is not applied",
			broken: model{join: func(p *corev1.Pod, g scheduler.Gang) {
				p.Annotations[groupAnnotation] = g.Name + "-group"
			}},
		},
		schedulertest.JoinPriority: {
			reason: "overwrites the class of the pod's template",
			broken: model{join: func(p *corev1.Pod, g scheduler.Gang) {
				p.Spec.PriorityClassName = g.PriorityClass
			}},
		},
		schedulertest.ReadsNothing: {
			reason: "admits a gang without a state",
			broken: model{read: func(
				_ scheduler.Gang, objs []client.Object, v scheduler.Verdict,
			) scheduler.Verdict {
				if c, ok := first(objs).(*corev1.ConfigMap); !ok || len(c.Data) == 0 {
					v.Admission = scheduler.Go
				}
				return v
			}},
		},
		schedulertest.ReadsLeftover: {
			reason: "admits the next attempt because the last one ran",
			broken: model{read: func(
				_ scheduler.Gang, objs []client.Object, v scheduler.Verdict,
			) scheduler.Verdict {
				if stateOf(objs) == "runs" {
					return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
				}
				return v
			}},
		},
		schedulertest.ReadsStrange: {
			reason: "assumes that its objects have data",
			broken: model{read: func(
				_ scheduler.Gang, objs []client.Object, v scheduler.Verdict,
			) scheduler.Verdict {
				for _, o := range objs {
					if c, ok := o.(*corev1.ConfigMap); ok {
						c.Data["read"] = "yes" // panics on a nil map
					}
				}
				return v
			}},
		},
		schedulertest.ReadsStable: {
			reason: "repeats the session's id",
			broken: model{read: func(
				_ scheduler.Gang, objs []client.Object, v scheduler.Verdict,
			) scheduler.Verdict {
				if c, ok := first(objs).(*corev1.ConfigMap); ok && v.Message != "" {
					v.Message += " in session " + c.Data["session"]
				}
				return v
			}},
		},
		schedulertest.ReadsPlain: {
			reason: "has a sentence as reason",
			broken: model{read: func(
				_ scheduler.Gang, _ []client.Object, v scheduler.Verdict,
			) scheduler.Verdict {
				if v.Reason != "" {
					v.Reason = "cluster is full"
				}
				return v
			}},
		},
		schedulertest.ValidateHelps: {
			reason: "refuses without a remedy",
			broken: model{validate: func(g scheduler.Gang) field.ErrorList {
				if g.Queue == "" {
					return nil
				}
				return field.ErrorList{
					field.Forbidden(field.NewPath(scheduler.PathQueue), "there are no queues"),
				}
			}},
		},
		schedulertest.TraitsHold: {
			reason: "waits under other classes, and does not define which gangs it preempts",
			broken: model{traits: func() scheduler.Traits { return scheduler.Traits{WaitingClasses: true} }},
		},
		schedulertest.SyncsPurely: {
			reason: "changes its input",
			broken: syncingModel{sync: func(objs []client.Object) []scheduler.Write {
				for _, o := range objs {
					if c, ok := o.(*corev1.ConfigMap); ok && len(c.Data) > 0 {
						c.Data["written"] = "yes"
					}
				}
				return nil
			}},
		},
		schedulertest.SyncsWhatExists: {
			reason: "writes to a group that does not exist",
			broken: syncingModel{sync: func(objs []client.Object) []scheduler.Write {
				return []scheduler.Write{
					{
						Why: "it is ready",
						Object: &corev1.ConfigMap{
							ObjectMeta: metav1.ObjectMeta{Name: "bert", ResourceVersion: "1"},
						},
					},
				}
			}},
		},
		schedulertest.ValidateAgrees: {
			reason: "refuses everything, so that no check runs",
			broken: model{validate: func(scheduler.Gang) field.ErrorList {
				return field.ErrorList{
					field.Forbidden(field.NewPath(scheduler.PathQueue), "use another scheduler"),
				}
			}},
		},
	}
	for _, p := range schedulertest.Promises() {
		t.Run(string(p), func(t *testing.T) {
			tc, ok := cases[p]
			if !ok {
				t.Fatal("no backend breaks this promise: its check may be unable to fail")
			}
			broken := map[schedulertest.Promise]bool{}
			for _, v := range schedulertest.Verify(tc.broken, dialect()) {
				broken[v.Promise] = true
			}
			if diff := cmp.Diff(map[schedulertest.Promise]bool{p: true}, broken); diff != "" {
				t.Errorf("a backend that %s (-want +got broken):\n%s", tc.reason, diff)
			}
		})
	}
}

func ofAttempt(g scheduler.Gang) string { return fmt.Sprintf("%s-%d", g.Name, g.Attempt) }

func first(objs []client.Object) client.Object {
	if len(objs) == 0 {
		return nil
	}
	return objs[0]
}

func stateOf(objs []client.Object) string {
	if c, ok := first(objs).(*corev1.ConfigMap); ok {
		return c.Data["state"]
	}
	return ""
}
