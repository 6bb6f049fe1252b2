package schedulertest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// lives that a gang can have, the common ones first.
func lives() []scheduler.GangStatus {
	now := metav1.NewTime(time.Date(2026, 11, 1, 13, 0, 0, 0, time.UTC))
	all := []scheduler.GangStatus{
		{},
		{PodsLeft: 4},
		{PodsLeft: 4, Running: true, Ready: true},
		{PodsLeft: 3, Over: true, Ended: map[string]int32{"Worker": 1}},
		{Over: true, Finished: true, Success: true, Message: "4/4 ranks succeeded"},
		{Over: true, Finished: true, Message: "rank 2 failed"},
		{Gone: true},
		{Gone: true, PodsLeft: 2},
	}
	for i := range all {
		all[i].Now = now
	}
	return all
}

// reports of every sample under every saying and life, if the dialect makes any.
func (v *verifier) reports(f func(r scheduler.StatusSyncer, g scheduler.Gang, life scheduler.GangStatus, objs func() []client.Object)) {
	r, ok := v.backend.(scheduler.StatusSyncer)
	if !ok {
		return
	}
	v.sayings(func(g scheduler.Gang, s GroupState) {
		for _, life := range lives() {
			f(r, g, life, func() []client.Object {
				objs := v.said(g, s, 1)
				for i, o := range objs {
					o.SetUID(g.Owner.UID + "-group")
					o.SetResourceVersion(string(rune('1' + i)))
				}
				return objs
			})
		}
	})
}

// A report that changes what it is given changes the cache that it was read from.
func reportsPurely(v *verifier) {
	v.reports(func(r scheduler.StatusSyncer, g scheduler.Gang, life scheduler.GangStatus, objs func() []client.Object) {
		given := objs()
		before := document(given)
		want := document(r.SyncStatus(g, life, given))
		for _, w := range r.SyncStatus(g, life, given) {
			scribble(w.Object)
		}
		if diff := cmp.Diff(before, document(given)); diff != "" {
			v.failf("the objects changed (-before +after):\n%s", diff)
		}
		for range 2 {
			if diff := cmp.Diff(want, document(r.SyncStatus(g, life, objs()))); diff != "" {
				v.failf("(-first +again):\n%s", diff)
				return
			}
		}
	})
}

// What does not exist cannot be told anything, and a job that is gone leaves no more behind than its name.
func reportsWhatIs(v *verifier) {
	v.reports(func(r scheduler.StatusSyncer, g scheduler.Gang, life scheduler.GangStatus, objs func() []client.Object) {
		if life.Gone {
			g = scheduler.Gang{Name: g.Name, Namespace: g.Namespace, Owner: g.Owner}
		}
		given := objs()
		strange := []client.Object{nil, &corev1.ConfigMap{}}
		for _, o := range given {
			strange = append(strange, zeroOf(o))
		}
		for _, none := range [][]client.Object{nil, strange} {
			if writes := r.SyncStatus(g, life, none); len(writes) > 0 {
				v.failf("%d writes to nothing", len(writes))
			}
		}
		for _, w := range r.SyncStatus(g, life, given) {
			if !slices.ContainsFunc(given, func(o client.Object) bool { return o.GetName() == w.Object.GetName() }) {
				v.failf("writes to %q, which does not exist", w.Object.GetName())
			}
			if w.Object.GetResourceVersion() == "" {
				v.failf("writes to %s whatever its resourceVersion", w.Object.GetName())
			}
			if w.Why == "" {
				v.failf("does not say why it writes to %s", w.Object.GetName())
			}
		}
	})
}
