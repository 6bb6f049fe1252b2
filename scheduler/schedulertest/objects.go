package schedulertest

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// A server-side apply names kind and version, and a kind that is not declared is neither looked for on the cluster nor
// watched.
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

// An object that differs between two passes is written at every pass. Go maps are ranged over in random order, hence the
// repetitions.
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

// Objects are handed to clients that write into them; the gang is used again afterwards.
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

func scribble(o client.Object) {
	if labels := o.GetLabels(); labels != nil {
		labels["scribble"] = "x"
		o.SetLabels(labels)
	}
	if owners := o.GetOwnerReferences(); len(owners) > 0 && owners[0].Controller != nil {
		*owners[0].Controller = false
	}
}

// Everything of a job is found by its owner and label, and goes with it.
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

// A name that the API server refuses after the job was accepted is a job that can never start.
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

// A status that is applied takes the field from the scheduler.
func specOnly(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		for _, o := range v.objects(g) {
			var got map[string]any
			if err := json.Unmarshal([]byte(document(o)), &got); err != nil {
				v.failf("%s: %v", o.GetName(), err)
				continue
			}
			status, _ := got["status"].(map[string]any)
			maps.DeleteFunc(status, func(_ string, value any) bool { return value == nil }) // a time that is not set: not applied
			if len(status) > 0 {
				v.failf("%s has a status: %v", o.GetName(), status)
			}
			created := o.GetCreationTimestamp()
			if o.GetUID() != "" || o.GetResourceVersion() != "" || len(o.GetManagedFields()) > 0 || !created.IsZero() {
				v.failf("%s has metadata of the API server", o.GetName())
			}
		}
	})
}

// A group that demands less starts a gang that cannot run, one that demands more never starts it.
func wholeMinimum(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		if got := v.dialect.MinMember(v.objects(g)[0]); got != g.MinAvailable {
			v.failf("the group demands %d ranks, want %d", got, g.MinAvailable)
		}
	})
}

func attempts(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		first := v.objects(g)[0].GetName()
		g.Attempt = 2
		second := v.objects(g)[0].GetName()
		if changes := first != second; changes != v.dialect.PerAttempt {
			v.failf("group %q of attempt 1, %q of attempt 2; a name per attempt is declared %t", first, second, v.dialect.PerAttempt)
		}
	})
}

// document renders a value with its maps sorted.
func document(value any) string {
	raw, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		panic(err)
	}
	return string(raw)
}
