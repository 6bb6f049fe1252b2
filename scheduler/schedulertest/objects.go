package schedulertest

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// declaredKinds: a server-side apply needs kind and version, and the operator neither discovers nor watches
// undeclared kinds.
func declaredKinds(v *verifier) {
	kinds := v.backend.Kinds()
	if len(kinds) == 0 {
		v.failf("Kinds: none")
	}
	v.samples(func(g scheduler.Gang) {
		for _, o := range v.objects(g) {
			if gvk := o.GetObjectKind().GroupVersionKind(); !slices.Contains(kinds, gvk) {
				v.failf("%s is of kind %q, declared are %v", o.GetName(), gvk, kinds)
			}
		}
	})
}

// deterministic: an object that differs between two reconciles is written in each of them. Repetitions detect
// a dependence on the order of a Go map.
func deterministic(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		want := document(v.objects(g))
		for range 20 {
			if diff := cmp.Diff(want, document(v.objects(g))); diff != "" {
				v.failf("(-first +again):\n%s", diff)
				return
			}
		}
	})
}

// settles: an object that is requested differently once it exists, or once a scheduler has written on it, is
// written a second time, or is replaced while it holds the gang's place.
func settles(v *verifier) {
	v.groupStates(func(g scheduler.Gang, s GroupState) {
		want := document(v.objects(g))
		if want != document(v.objects(g)) {
			return // it is not deterministic: another promise
		}
		g.Existing = v.objectsIn(g, s, 1)
		for _, hasPods := range []bool{false, true} {
			g.HasPods = hasPods
			if diff := cmp.Diff(want, document(v.objects(g))); diff != "" {
				v.failf("with pods %t (-before +once it exists):\n%s", hasPods, diff)
			}
		}
	})
}

// leavesGangAlone: clients write into the objects, and the operator uses the gang again afterwards.
func leavesGangAlone(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		before := document(g)
		objs := v.objects(g)
		for _, o := range objs {
			scribble(o)
		}
		pod := Pod(g, g.Roles[0], 0)
		v.backend.Join(pod, g, scheduler.Verdict{Admission: scheduler.Go})
		scribble(pod)
		v.backend.Read(g, objs)
		if diff := cmp.Diff(before, document(g)); diff != "" {
			v.failf("(-before +after):\n%s", diff)
		}
	})
}

// owned: the operator finds the objects of a job by owner and label, and Kubernetes garbage-collects them.
func owned(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		for _, o := range v.objects(g) {
			if o.GetNamespace() != g.Namespace {
				v.failf("%s is in namespace %q", o.GetName(), o.GetNamespace())
			}
			if diff := cmp.Diff([]metav1.OwnerReference{g.Owner}, o.GetOwnerReferences()); diff != "" {
				v.failf("owners of %s (-want +got):\n%s", o.GetName(), diff)
			}
			got := o.GetLabels()
			for _, key := range slices.Sorted(maps.Keys(g.Labels)) {
				if got[key] != g.Labels[key] {
					v.failf("%s has label %s=%q, want %q", o.GetName(), key, got[key], g.Labels[key])
				}
			}
		}
	})
}

// shortNames: when the API server rejects a name after the job was accepted, the job can never start.
func shortNames(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		for _, attempt := range []int32{1, 99999} {
			g.Attempt = attempt
			for _, o := range v.objects(g) {
				if problems := validation.IsDNS1123Label(o.GetName()); len(problems) > 0 {
					v.failf("attempt %d: name %q: %v", attempt, o.GetName(), problems)
				}
			}
		}
	})
}

// specOnly: an applied status would take its fields from the scheduler.
func specOnly(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		for _, o := range v.objects(g) {
			var got map[string]any
			if err := json.Unmarshal([]byte(document(o)), &got); err != nil {
				v.failf("%s: %v", o.GetName(), err)
				continue
			}
			status, _ := got["status"].(map[string]any)
			maps.DeleteFunc(status, func(_ string, value any) bool {
				return value == nil
			}) // unset times are not applied
			if len(status) > 0 {
				v.failf("%s has a status: %v", o.GetName(), status)
			}
			created := o.GetCreationTimestamp()
			if o.GetUID() != "" || o.GetResourceVersion() != "" || len(
				o.GetManagedFields(),
			) > 0 || !created.IsZero() {
				v.failf("%s has metadata of the API server", o.GetName())
			}
		}
	})
}

// wholeMinimum: a group that demands fewer ranks starts a gang that cannot run, and one that demands more
// never starts it.
func wholeMinimum(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		if got := v.dialect.MinMember(v.objects(g)[0]); got != g.MinAvailable {
			v.failf("the group demands %d ranks, want %d", got, g.MinAvailable)
		}
	})
}

// attempts: a group is replaced at a new attempt exactly when its name changes.
func attempts(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		first := v.objects(g)[0].GetName()
		g.Attempt = 2
		second := v.objects(g)[0].GetName()
		if changes := first != second; changes != v.dialect.PerAttempt {
			v.failf("group %q of attempt 1, %q of attempt 2; PerAttempt is %t", first,
				second, v.dialect.PerAttempt)
		}
	})
}
