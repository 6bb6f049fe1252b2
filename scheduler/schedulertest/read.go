package schedulertest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// readsNothing: before a group exists the scheduler has judged nothing, whether or not it needs pods to judge
// a gang.
func readsNothing(v *verifier) {
	want := scheduler.Hold
	if v.dialect.PodsFirst {
		want = scheduler.Go
	}
	v.samples(func(g scheduler.Gang) {
		for _, objs := range [][]client.Object{nil, {}} {
			got := v.backend.Read(g, objs)
			if got.Admission != want || got.Judged {
				v.failf("got %s, judged %t, want %s and not judged", got.Admission, got.Judged, want)
			}
		}
	})
}

// readsLeftover: attempt 2 has no pods yet and finds what the scheduler wrote about attempt 1.
func readsLeftover(v *verifier) {
	if len(v.dialect.GroupStates) == 0 {
		v.failf("the dialect declares no group states")
	}
	v.groupStates(func(g scheduler.Gang, s GroupState) {
		leftover := v.objectsIn(g, s, 1)
		g.Attempt = 2
		got := v.backend.Read(g, leftover)
		if v.dialect.PerAttempt {
			// The group of another attempt does not count for this one.
			if diff := cmp.Diff(v.backend.Read(g, nil), got); diff != "" {
				v.failf("(-nothing read +leftover read):\n%s", diff)
			}
			return
		}
		if got.Admission == scheduler.Go && !s.Invites {
			v.failf("got Go (%s)", got.Message)
		}
	})
}

// readsStrange: the cache may hold objects that users edited, or of kinds outside the dialect.
func readsStrange(v *verifier) {
	v.samples(func(g scheduler.Gang) {
		strange := []client.Object{
			&corev1.ConfigMap{}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}, nil,
		}
		for _, o := range v.objects(g) {
			strange = append(strange, zeroOf(o))
		}
		if diff := cmp.Diff(v.backend.Read(g, nil), v.backend.Read(g, strange)); diff != "" {
			v.failf("(-nothing read +strange read):\n%s", diff)
		}
	})
}

// readsStable: schedulers write ids, times and whichever rank failed first. A verdict that repeats them
// causes one status write per session and job.
func readsStable(v *verifier) {
	v.groupStates(func(g scheduler.Gang, s GroupState) {
		for _, hasPods := range []bool{false, true} {
			g.HasPods = hasPods
			first := v.backend.Read(g, v.objectsIn(g, s, 1))
			for n := 2; n <= 4; n++ {
				objs := v.objectsIn(g, s, n)
				slices.Reverse(objs) // a cache has no fixed order
				if diff := cmp.Diff(first, v.backend.Read(g, objs)); diff != "" {
					v.failf("with pods %t (-session 1 +session %d):\n%s", hasPods, n, diff)
				}
			}
		}
	})
}

var camelCase = regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)?$`)

// readsPlain: reasons and messages appear in the status of the job and in columns.
func readsPlain(v *verifier) {
	v.groupStates(func(g scheduler.Gang, s GroupState) {
		for _, hasPods := range []bool{false, true} {
			g.HasPods = hasPods
			got := v.backend.Read(g, v.objectsIn(g, s, 1))
			if !slices.Contains([]scheduler.Admission{scheduler.Hold, scheduler.Go, scheduler.Yield},
				got.Admission) {
				v.failf("admission %q", got.Admission)
			}
			if !camelCase.MatchString(got.Reason) {
				v.failf("reason %q", got.Reason)
			}
			if (got.Reason == "") != (got.Message == "") {
				v.failf("reason %q with message %q: give both or neither", got.Reason, got.Message)
			}
			if strings.ContainsAny(got.Message+got.NextStep, "\n\t") {
				v.failf("message of several lines: %q", got.Message+got.NextStep)
			}
			if got.Admission == scheduler.Hold && got.Message == "" {
				v.failf("Hold without a message: the status would not explain why the job waits")
			}
		}
	})
}
