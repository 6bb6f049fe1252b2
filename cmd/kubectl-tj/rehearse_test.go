package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// withRevision puts the revision of bert into the annotation of its rehearsal.
func withRevision(t *testing.T, s *apiServer) *apiServer {
	t.Helper()
	job := &v1alpha1.TrainingJob{}
	data, err := json.Marshal(s.objects[0].Object)
	if err == nil {
		err = json.Unmarshal(data, job)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range s.objects[1:] {
		annotations := o.GetAnnotations()
		annotations[v1alpha1.AnnotationRehearsalRevision] = spec.Revision(job)
		o.SetAnnotations(annotations)
	}
	return s
}

// serveBert has the job bert, which was not rehearsed. past has the status of its rehearsal.
func serveBert(t *testing.T) (s *apiServer, past *unstructured.Unstructured) {
	t.Helper()
	s = withRevision(t, serve(t, "jobs/rehearsed.yaml"))
	past = s.objects[1]
	s.objects = s.objects[:1]
	return s, past
}

// became is the event that a created job has a status.
func became(past *unstructured.Unstructured, version string, edit func(status map[string]any)) any {
	o := past.DeepCopy()
	o.SetResourceVersion(version)
	o.SetUID("created")
	o.SetCreationTimestamp(metav1.NewTime(noon))
	edit(o.Object["status"].(map[string]any))
	return modified(o)
}

func ends(map[string]any) {}

// with a result, and one check that has an outcome.
func with(phase, result, check, outcome, message string) func(map[string]any) {
	return func(status map[string]any) {
		status["phase"], status["message"] = phase, "the rehearsal has ended"
		of := status["rehearsal"].(map[string]any)
		of["result"] = result
		for _, c := range of["checks"].([]any) {
			if c := c.(map[string]any); c["name"] == check {
				c["outcome"], c["message"] = outcome, message
			}
		}
	}
}

// trains is a status in the given attempt, before its way is played.
func trains(attempt int64) func(map[string]any) {
	return func(status map[string]any) {
		status["phase"], status["attempt"] = "Running", attempt
		delete(status, "completionTime")
		of := status["rehearsal"].(map[string]any)
		delete(of, "result")
		of["checks"], of["attempts"] = of["checks"].([]any)[:2], of["attempts"].([]any)[:attempt-1]
	}
}

// TestRehearse: it creates the job, prints what is played to stderr, then the checks; the result is the exit
// code.
func TestRehearse(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		last func(map[string]any)
		code int
	}{
		"passed": {nil, ends, 0},
		"failed": {nil, with("Failed", "Failed", "Resumes", "Failed",
			"attempt 2 was given step 40 and began at step 1: load RESUME_FROM_CHECKPOINT"), exitRehearsalFailed},
		"incomplete": {
			nil, with("Failed", "Incomplete", "Resumes", "NotSeen", "no status file"), exitRehearsalIncomplete,
		},
		"no-result": {nil, func(status map[string]any) {
			status["phase"], status["message"] = "Failed", "the ranks failed 4 times, backoffLimit is 3"
			delete(status, "rehearsal")
		}, exitRehearsalIncomplete},
		"deleted-at-its-end": {[]string{"--delete"}, ends, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, past := serveBert(t)
			s.watches = [][]any{{
				became(past, "21", trains(1)), became(past, "22", trains(1)), became(past, "23", trains(2)),
				became(past, "24", c.last),
			}}
			got := play(t, s.args(append([]string{"rehearse", "bert"}, c.args...)...))
			if got.code != c.code {
				t.Errorf("code %d, want %d: %s", got.code, c.code, got.err)
			}
			golden(t, "rehearse/"+name+".txt", got.stdout)
			golden(t, "rehearse/"+name+".stderr.txt", got.err)
			writes := []string{"create bert-rehearsal"}
			if c.args != nil {
				writes = append(writes, "delete bert-rehearsal Foreground")
			}
			if diff := cmp.Diff(writes, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRehearseForms: the result in the shape of explain.
func TestRehearseForms(t *testing.T) {
	s, past := serveBert(t)
	s.watches = [][]any{{became(past, "24", ends)}}
	got := play(t, s.args("rehearse", "bert", "-o", "json"))
	var e explain.Explanation
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	if r := e.Rehearsal; r == nil || len(r.Checks) != 10 || r.Played != 4 || r.SaveSeconds != 11 {
		t.Errorf("%+v", r)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRehearseDryRun prints the job that another call creates, from the cluster and from a file without one.
func TestRehearseDryRun(t *testing.T) {
	s, _ := serveBert(t)
	var jobs []v1alpha1.TrainingJob
	file := filepath.Join(t.TempDir(), "job.yaml")
	data, err := yaml.Marshal(s.objects[0].Object)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, string(data))
	for _, args := range [][]string{
		s.args("rehearse", "bert", "--dry-run"),
		{"rehearse", "-f", file, "--dry-run", "--kubeconfig", filepath.Join(t.TempDir(), "none")},
		{"rehearse", "-f", file, "--dry-run", "-o", "json", "--server", "http://127.0.0.1:1", "-n", "team-a"},
	} {
		got := play(t, args)
		var job v1alpha1.TrainingJob
		if err := yaml.UnmarshalStrict([]byte(got.stdout), &job); err != nil || got.code != 0 || got.err != "" {
			t.Fatalf("%v: %+v", err, got)
		}
		jobs = append(jobs, job)
	}
	for _, job := range jobs[1:] {
		if diff := cmp.Diff(jobs[0], job); diff != "" {
			t.Errorf("the file gives another job:\n%s", diff)
		}
	}
	if s.writes != nil {
		t.Errorf("writes %v", s.writes)
	}
}

// TestRehearseAgain: an earlier rehearsal is deleted only if it has ended and the user wants that.
func TestRehearseAgain(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*unstructured.Unstructured)
		args   []string
		want   []string
		writes []string
	}{
		"ended": {
			func(*unstructured.Unstructured) {}, nil,
			[]string{"add --replace", "kubectl delete trainingjob bert-rehearsal -n team-a"}, nil,
		},
		"runs": {
			func(o *unstructured.Unstructured) { trains(2)(o.Object["status"].(map[string]any)) },
			[]string{"--replace"},
			[]string{"runs already", "kubectl tj explain bert-rehearsal -n team-a --watch"}, nil,
		},
		"of another job": {
			func(o *unstructured.Unstructured) { o.SetLabels(nil) }, []string{"--replace"},
			[]string{"is no rehearsal of bert"}, nil,
		},
		"replaced": {
			func(*unstructured.Unstructured) {}, []string{"--replace"}, nil,
			[]string{"delete bert-rehearsal Foreground", "create bert-rehearsal"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, past := serveBert(t)
			old := past.DeepCopy()
			old.SetUID("old")
			c.edit(old)
			s.objects = append(s.objects, old)
			s.watches = [][]any{{became(past, "24", ends)}}
			got := play(t, s.args(append([]string{"rehearse", "bert"}, c.args...)...))
			if ok := got.code == 0; ok != (c.want == nil) {
				t.Errorf("%+v", got)
			}
			for _, want := range c.want {
				if !strings.Contains(got.err, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.err)
				}
			}
			if diff := cmp.Diff(c.writes, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRehearseInterrupted: the rehearsal continues, and the user learns how to see and to stop it.
func TestRehearseInterrupted(t *testing.T) {
	s, past := serveBert(t)
	ctx, cancel := context.WithTimeout(t.Context(), watchDeadline)
	defer cancel()
	s.watches = [][]any{{became(past, "21", trains(1)), func() { cancel() }}}
	var out, errs bytes.Buffer
	code := runAt(ctx, s.args("rehearse", "bert"), streams{nil, &out, &errs},
		clocktesting.NewFakePassiveClock(noon))
	created := []string{"create bert-rehearsal"}
	if code != exitRehearsalIncomplete || out.Len() > 0 || !slices.Equal(s.writes, created) {
		t.Errorf("code %d, writes %v: %s%s", code, s.writes, &out, &errs)
	}
	for _, want := range []string{
		"kubectl tj explain bert-rehearsal -n team-a --watch",
		"kubectl delete trainingjob bert-rehearsal -n team-a",
	} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, &errs)
		}
	}
}

// TestRehearseDeletedByOthers: there is no result.
func TestRehearseDeletedByOthers(t *testing.T) {
	s, past := serveBert(t)
	s.watches = [][]any{{map[string]any{"type": "DELETED", "object": past.Object}}}
	got := play(t, s.args("rehearse", "bert"))
	if got.code != exitRehearsalIncomplete || !strings.Contains(got.err, "was deleted before its end") {
		t.Errorf("%+v", got)
	}
}

// TestRehearseRefused: wrong usage and refusals of the cluster create nothing.
func TestRehearseRefused(t *testing.T) {
	two := filepath.Join(t.TempDir(), "two.yaml")
	job := "apiVersion: mlplatform.example.com/v1alpha1\nkind: TrainingJob\nmetadata: {name: a, namespace: b}\n"
	writeFile(t, two, job+"---\n"+job)
	typo := filepath.Join(t.TempDir(), "typo.yaml")
	writeFile(t, typo, job+"spec: {replica: 2}\n")
	one := filepath.Join(t.TempDir(), "one.yaml")
	writeFile(t, one, job)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no job":      {[]string{}, exitUsage, "or a file with -f"},
		"both":        {[]string{"bert", "-f", one}, exitUsage, "not both"},
		"unknown way": {[]string{"bert", "--ways", "Kill,Crash"}, exitUsage, `unknown way "Crash"`},
		"many ways": {
			[]string{"bert", "--ways", "kill,ask,ask,ask,ask,ask,ask,ask,ask"}, exitUsage, "more than 8",
		},
		"ranks":          {[]string{"bert", "--ranks", "0"}, exitUsage, "--ranks 0"},
		"too many":       {[]string{"bert", "--ranks", "9"}, exitError, "give 1 to 4"},
		"timeout":        {[]string{"bert", "--timeout", "1m"}, exitUsage, "5m to 24h"},
		"form":           {[]string{"bert", "-o", "wide"}, exitUsage, "-o json"},
		"dry run":        {[]string{"bert", "--dry-run", "--replace"}, exitUsage, "--dry-run creates"},
		"missing":        {[]string{"nope"}, exitError, "NotFound"},
		"two jobs":       {[]string{"-f", two}, exitError, "2 TrainingJobs"},
		"a typing error": {[]string{"-f", typo}, exitError, `unknown field "replica"`},
		"no file":        {[]string{"-f", "none.yaml"}, exitError, "none.yaml"},
		"namespace":      {[]string{"-f", one, "-n", "c"}, exitUsage, "in namespace b, not in c"},
		"no checkpoints": {[]string{"-f", one}, exitError, "set spec.checkpoint"},
		"forbidden":      {[]string{"bert"}, exitError, "right to create trainingjobs in namespace team-a"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serveBert(t)
			s.forbids = func(verb, _, _ string) bool { return verb == "create" }
			got := play(t, s.args(append([]string{"rehearse"}, c.args...)...))
			if got.code != c.code || got.stdout != "" || !strings.Contains(got.err, c.want) || s.writes != nil {
				t.Errorf("%+v, writes %v; want code %d and %q", got, s.writes, c.code, c.want)
			}
		})
	}
}

// TestExplainRehearsed: the job's explanation has its newest rehearsal, and whether the spec has changed
// since.
func TestExplainRehearsed(t *testing.T) {
	s := withRevision(t, serve(t, "jobs/rehearsed.yaml"))
	got := play(t, s.args("explain", "bert"))
	golden(t, "explain/has-rehearsal.txt", got.stdout)
	if err := unstructured.SetNestedField(s.objects[0].Object, int64(2), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	got = play(t, s.args("explain", "bert"))
	golden(t, "explain/has-old-rehearsal.txt", got.stdout)
	s.forbids = func(verb, _, _ string) bool { return verb == "list" }
	got = play(t, s.args("explain", "bert"))
	if got.code != 0 || !strings.Contains(got.stdout, "Unknown:") || strings.Contains(got.stdout, "Rehearsed:") {
		t.Errorf("without the right to list: %+v", got)
	}
}
