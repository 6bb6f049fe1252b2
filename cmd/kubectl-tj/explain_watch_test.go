package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
)

// watchDeadline bounds a watch that does not end.
const watchDeadline = time.Minute

// edited returns the only job in another version, with an edit.
func edited(
	t *testing.T, s *apiServer, resourceVersion string, edit func(status map[string]any),
) *unstructured.Unstructured {
	t.Helper()
	o := s.objects[0].DeepCopy()
	o.SetResourceVersion(resourceVersion)
	status, _, err := unstructured.NestedMap(o.Object, "status")
	if err != nil {
		t.Fatal(err)
	}
	edit(status)
	o.Object["status"] = status
	return o
}

func modified(o *unstructured.Unstructured) any {
	return map[string]any{"type": "MODIFIED", "object": o.Object}
}

func phase(name string) func(map[string]any) {
	return func(status map[string]any) {
		status["phase"], status["message"] = name, "now it is "+name
		delete(status, "scheduling")
	}
}

var tooOld = map[string]any{"type": "ERROR", "object": metav1.Status{
	TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
	Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
}}

// phasesIn returns the printed phases and their separators.
func phasesIn(text string) string {
	var all []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if phase, is := strings.CutPrefix(line, "Phase:"); is {
			all = append(all, strings.FieldsFunc(phase, func(r rune) bool { return r == ' ' || r == ',' })[0])
		} else if line == "" {
			all = append(all, "|")
		}
	}
	return strings.Join(all, " ")
}

// TestWatch: only what says something else is printed, a watch that breaks is begun again, and the end of the
// job is the end of it.
func TestWatch(t *testing.T) {
	observed := func(status map[string]any) {
		_ = unstructured.SetNestedField(status, "2026-11-25T11:59:59Z", "scheduling", "blocker", "observedTime")
	}
	for name, c := range map[string]struct {
		watches func(s *apiServer) [][]any
		phases  string
		watched []string
		stderr  string
	}{
		"to its end": {
			func(s *apiServer) [][]any {
				return [][]any{{
					modified(edited(t, s, "11", observed)), modified(edited(t, s, "12", phase("Running"))),
					modified(edited(t, s, "13", phase("Succeeded"))),
				}}
			},
			"Queued | Running | Succeeded", []string{"metadata.name=queue-full from 10"}, "",
		},
		"the server closes it": {
			func(s *apiServer) [][]any {
				return [][]any{
					{modified(edited(t, s, "12", phase("Running")))}, {modified(edited(t, s, "14", phase("Failed")))},
				}
			},
			"Queued | Running | Failed",
			[]string{"metadata.name=queue-full from 10", "metadata.name=queue-full from 12"}, "",
		},
		"its version is too old": {
			func(s *apiServer) [][]any {
				newer := edited(t, s, "50", phase("Running"))
				replace := func() { s.mu.Lock(); s.objects[0] = newer; s.mu.Unlock() }
				return [][]any{{replace, tooOld}, {map[string]any{"type": "DELETED", "object": newer.Object}}}
			},
			"Queued | Running",
			[]string{"metadata.name=queue-full from 10", "metadata.name=queue-full from 50"},
			"team-a/queue-full was deleted\n",
		},
		"deleted while the watch is down": {
			func(s *apiServer) [][]any {
				remove := func() { s.mu.Lock(); s.objects = nil; s.mu.Unlock() }
				return [][]any{{remove, tooOld}}
			},
			"Queued", []string{"metadata.name=queue-full from 10"}, "team-a/queue-full was deleted\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "jobs/quota.yaml")
			s.watches = c.watches(s)
			ctx, cancel := context.WithTimeout(t.Context(), watchDeadline)
			defer cancel()
			var out, errs bytes.Buffer
			code := runAt(ctx, s.args("explain", "queue-full", "--watch"), streams{nil, &out, &errs},
				clocktesting.NewFakePassiveClock(noon))
			if code != 0 || errs.String() != c.stderr || ctx.Err() != nil {
				t.Errorf("code %d, %v, stderr: %s", code, ctx.Err(), &errs)
			}
			if diff := cmp.Diff(c.phases, phasesIn(out.String())); diff != "" {
				t.Errorf("phases (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.watched, s.watched); diff != "" {
				t.Errorf("watches (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWatchInterrupted: an interrupt ends the watch of a waiting job without an error.
func TestWatchInterrupted(t *testing.T) {
	s := serve(t, "jobs/quota.yaml")
	ctx, cancel := context.WithTimeout(t.Context(), watchDeadline)
	defer cancel()
	s.watches = [][]any{{func() { cancel() }}}
	var out, errs bytes.Buffer
	code := runAt(ctx, s.args("explain", "queue-full", "-w", "-o", "yaml"), streams{nil, &out, &errs},
		clocktesting.NewFakePassiveClock(noon))
	if code != 0 || errs.Len() > 0 || !strings.Contains(out.String(), "phase: Queued") {
		t.Errorf("code %d: %s%s", code, &out, &errs)
	}
}
