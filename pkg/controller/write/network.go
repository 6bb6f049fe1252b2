package write

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// applyNetwork makes the headless Service and the names under it as the plan says. No rank is created where
// it fails: it would look for its peers in vain, or find those of a former attempt.
func (w *Objects) applyNetwork(ctx context.Context, s *memory.Observed, plan trainingjob.Plan) error {
	if plan.Names == decision.Remove {
		if err := w.ensure(ctx, s.Job, nil, s.Slices); err != nil {
			return err
		}
	}
	switch plan.Service {
	case decision.Apply:
		if s.IsBackingOff() {
			return memory.ErrWaiting
		}
		if err := w.applyService(ctx, s); err != nil {
			return err
		}
	case decision.Remove:
		return w.ensure(ctx, s.Job, nil, s.Services)
	}
	if plan.Names != decision.Apply {
		return nil
	}
	names := render.Names(s.Job, plan.Status.Attempt, plan.Named)
	if hasNames(s.Slices, names) {
		return nil
	}
	var objs []client.Object
	for _, slice := range names {
		objs = append(objs, slice)
	}
	return w.ensure(ctx, s.Job, objs, s.Slices)
}

// hasNames reports whether the slices that exist are these. To compare them as ensure does, by what is sent,
// costs a gang of a thousand ranks more than all else in a pass, and every event of a rank brings one.
func hasNames(existing []memory.OwnedObject, names []*discoveryv1.EndpointSlice) bool {
	if len(existing) != len(names) {
		return false
	}
	for _, want := range names {
		have, ok := memory.Find(existing, memory.SliceKind, want.Name).(*discoveryv1.EndpointSlice)
		if !ok || have.DeletionTimestamp != nil || have.AddressType != want.AddressType ||
			!containsLabels(have.Labels, want.Labels) || !equality.Semantic.DeepEqual(have.Ports, want.Ports) ||
			!equality.Semantic.DeepEqual(have.Endpoints, want.Endpoints) {
			return false
		}
	}
	return true
}

func containsLabels(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func (w *Objects) applyService(ctx context.Context, s *memory.Observed) error {
	if selecting := selectingServices(s.Services); len(selecting) > 0 {
		if err := w.ensure(ctx, s.Job, nil, selecting); err != nil {
			return err
		}
		return memory.ErrWaiting // its deletion's event brings the next reconcile
	}
	return w.ensure(ctx, s.Job, []client.Object{render.Service(s.Job)}, s.Services)
}

// selectingServices are those with a selector, as v0.1.0 made them. They are replaced and not changed:
// kube-controller-manager leaves what it wrote for a Service that loses its selector, and continues to mirror
// its Endpoints.
func selectingServices(services []memory.OwnedObject) []memory.OwnedObject {
	return slices.DeleteFunc(slices.Clone(services), func(o memory.OwnedObject) bool {
		service, ok := o.Object.(*corev1.Service)
		return !ok || len(service.Spec.Selector) == 0
	})
}
