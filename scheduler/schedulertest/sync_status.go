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

// gangStatuses returns the states of a gang that SyncStatus must handle, the common ones first.
func gangStatuses() []scheduler.GangStatus {
	now := metav1.NewTime(time.Date(2026, 11, 1, 13, 0, 0, 0, time.UTC))
	all := []scheduler.GangStatus{
		{},
		{PodsLeft: 4},
		{PodsLeft: 4, Ready: true},
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

// syncCheck checks SyncStatus for one gang in one status; objs returns fresh copies of the gang's objects.
type syncCheck func(
	s scheduler.QuotaSystem, g scheduler.Gang, status scheduler.GangStatus, objs func() []client.Object,
)

// syncs calls f with every accepted sample in every group state and status, if the backend is a QuotaSystem.
func (v *verifier) syncs(f syncCheck) {
	quotas := scheduler.Of(v.backend).QuotaSystem
	if quotas == nil {
		return
	}
	v.groupStates(func(g scheduler.Gang, s GroupState) {
		for _, status := range gangStatuses() {
			f(quotas, g, status, func() []client.Object {
				objs := v.objectsIn(g, s, 1)
				for i, o := range objs {
					o.SetUID(g.Owner.UID + "-group")
					o.SetResourceVersion(string(rune('1' + i)))
				}
				return objs
			})
		}
	})
}

// syncsPurely: the objects come from the cache, which other readers share.
func syncsPurely(v *verifier) {
	v.syncs(func(
		s scheduler.QuotaSystem, g scheduler.Gang, status scheduler.GangStatus, objs func() []client.Object,
	) {
		given := objs()
		before := document(given)
		want := document(s.SyncStatus(g, status, given))
		for _, w := range s.SyncStatus(g, status, given) {
			scribble(w.Object)
		}
		if diff := cmp.Diff(before, document(given)); diff != "" {
			v.failf("the objects changed (-before +after):\n%s", diff)
		}
		for range 2 {
			if diff := cmp.Diff(want, document(s.SyncStatus(g, status, objs()))); diff != "" {
				v.failf("(-first +again):\n%s", diff)
				return
			}
		}
	})
}

// syncsWhatExists: an object that does not exist cannot be written to, and of a deleted job only the name is
// known.
func syncsWhatExists(v *verifier) {
	v.syncs(func(
		s scheduler.QuotaSystem, g scheduler.Gang, status scheduler.GangStatus, objs func() []client.Object,
	) {
		if status.Gone {
			g = scheduler.Gang{Name: g.Name, Namespace: g.Namespace, Owner: g.Owner}
		}
		given := objs()
		strange := []client.Object{nil, &corev1.ConfigMap{}}
		for _, o := range given {
			strange = append(strange, zeroOf(o))
		}
		for _, none := range [][]client.Object{nil, strange} {
			if writes := s.SyncStatus(g, status, none); len(writes) > 0 {
				v.failf("%d writes without an object", len(writes))
			}
		}
		for _, w := range s.SyncStatus(g, status, given) {
			if !slices.ContainsFunc(given, func(o client.Object) bool {
				return o.GetName() == w.Object.GetName()
			}) {
				v.failf("writes to %q, which does not exist", w.Object.GetName())
			}
			if w.Object.GetResourceVersion() == "" {
				v.failf("writes to %s without a resourceVersion", w.Object.GetName())
			}
			if w.Why == "" {
				v.failf("has no Why for its write to %s", w.Object.GetName())
			}
		}
	})
}
