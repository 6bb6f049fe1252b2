package board

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/boundedyaml"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// TestButtons: there is one for each action that the caller may take and that has an effect.
func TestButtons(t *testing.T) {
	suspended := func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.Suspend = new(true) }
	deleting := func(job *v1alpha1.TrainingJob) { job.DeletionTimestamp = new(metav1.NewTime(now)) }
	for name, tt := range map[string]struct {
		reason         string
		edit           func(*v1alpha1.TrainingJob)
		change, remove bool
		want           []string
	}{
		"running":   {"all", inPhase(v1alpha1.PhaseRunning), true, true, []string{"Suspend", "Restart", "Delete…"}},
		"suspended": {"it has nothing to restart", suspended, true, true, []string{"Resume", "Delete…"}},
		"finished":  {"it stays as it is", inPhase(v1alpha1.PhaseFailed), true, true, []string{"Delete…"}},
		"deleting":  {"nothing can be done any more", deleting, true, true, nil},
		"reader":    {"only to be seen", inPhase(v1alpha1.PhaseRunning), false, false, nil},
		"patch":     {"no deletion", inPhase(v1alpha1.PhaseRunning), true, false, []string{"Suspend", "Restart"}},
		"delete":    {"nothing else", inPhase(v1alpha1.PhaseRunning), false, true, []string{"Delete…"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range buttons(newJob("a", "bert", tt.edit), "/job", tt.change, tt.remove) {
				got = append(got, b.Label)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", tt.reason, diff)
			}
		})
	}
}

// TestRightsOfButtons: the API decides about them.
func TestRightsOfButtons(t *testing.T) {
	s := newServer(t, newJob("a", "bert", inPhase(v1alpha1.PhaseRunning)))
	contains(t, s.get(jobPage), http.StatusOK, `formaction="`+jobPage+`/suspend"`, `href="`+jobPage+`/delete"`)
	s.api.denied["ann patch"], s.api.denied["ann delete"] = true, true
	if got := s.get(jobPage); strings.Contains(got.body, "/suspend") || strings.Contains(got.body, "/delete") {
		t.Error(got.body)
	}
}

func TestActions(t *testing.T) {
	s := newServer(t, newJob("a", "bert", inPhase(v1alpha1.PhaseRunning)))
	for _, action := range []string{"suspend", "resume", "restart"} {
		got := s.post(jobPage+"/"+action, "uid", "uid-bert")
		to := got.Header.Get("Location")
		if got.StatusCode != http.StatusSeeOther || to != jobPage+"?done="+action {
			t.Errorf("%s: status %d to %s", action, got.StatusCode, to)
		}
		contains(t, s.get(jobPage+"?done="+action), http.StatusOK, doneWords[action])
	}
	confirm := s.get(jobPage + "/delete")
	contains(t, confirm, http.StatusOK, "Delete a/bert?", `name="uid" value="uid-bert"`)
	got := s.post(jobPage+"/delete", "uid", "uid-bert")
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != mainJobs {
		t.Errorf("status %d to %s", got.StatusCode, got.Header.Get("Location"))
	}
	want := []string{
		`suspend a/bert "uid-bert"`, `resume a/bert "uid-bert"`, `restart a/bert "uid-bert"`,
		`delete a/bert "uid-bert"`,
	}
	if diff := cmp.Diff(want, s.api.asked); diff != "" {
		t.Error(diff)
	}
	contains(t, s.get(jobPage+"?done=dance"), http.StatusUnprocessableEntity, "query.done")
	contains(t, s.get(jobPage+"?colour=red"), http.StatusUnprocessableEntity, "query.colour")
}

// TestActionsAreGuarded: no action by GET, nor without the UID of the job that a form was shown for.
func TestActionsAreGuarded(t *testing.T) {
	s := newServer(t, newJob("a", "bert"))
	for _, path := range []string{"/suspend", "/resume", "/restart", "/delete"} {
		contains(t, s.post(jobPage+path), http.StatusUnprocessableEntity, "form.uid")
		if path != "/delete" {
			contains(t, s.get(jobPage+path), http.StatusMethodNotAllowed)
		}
	}
	if len(s.api.asked) != 0 {
		t.Errorf("asked for %v", s.api.asked)
	}
}

// TestAnswersOfActions: the page shows errors and warnings of the cluster.
func TestAnswersOfActions(t *testing.T) {
	s := newServer(t, newJob("a", "bert"))
	s.api.refuses = problem.New(problem.Conflict, "the job has finished: it is Failed", "create a new one")
	got := s.post(jobPage+"/restart", "uid", "uid-bert")
	contains(t, got, http.StatusConflict, "it is Failed", "create a new")
	s.api.refuses, s.api.warnings = nil, []string{`299 - "the queue is ` + `<b>closed</b>"`}
	got = s.post(jobPage+"/suspend", "uid", "uid-bert")
	contains(t, got, http.StatusOK, "the queue is &lt;b&gt;closed&lt;/b&gt;", `href="`+jobPage+`"`)
	fragmenttest.Document(t, got.body)
}

const submitPage = "/board/clusters/main/submit"

// TestSubmitForm: the server makes a manifest from a form, and checks or submits it.
func TestSubmitForm(t *testing.T) {
	s := newServer(t, newJob("team-b", "gpt"))
	contains(t, s.get(submitPage), http.StatusOK, `<option value="team-b">`, `<option selected>pytorch`,
		`value="1"`)
	typed := []string{
		"namespace", "team-a", "name", "bert", "framework", "pytorch", "image", "example.com/bert:1",
		"command", "python train.py --name 'a b'", "workers", "4", "gpus", "8", "cpu", "4", "memory", "16Gi",
		"queue", "research", "priority", "high", "manifest", "typed: too",
	}
	got := s.post(submitPage, append(typed, "do", "submit")...)
	const to = "/board/clusters/main/namespaces/team-a/jobs/made?done=submit"
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != to {
		t.Errorf("status %d to %s: %s", got.StatusCode, got.Header.Get("Location"), got.body)
	}
	const want = `apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata:
  name: bert
  namespace: team-a
spec:
  command:
  - python
  - train.py
  - --name
  - a b
  framework: pytorch
  image: example.com/bert:1
  replicas: 4
  resources:
    limits:
      nvidia.com/gpu: "8"
    requests:
      cpu: "4"
      memory: 16Gi
  runPolicy:
    schedulingPolicy:
      priorityClass: high
      queue: research
`
	if diff := cmp.Diff(want, string(s.api.created[0].RawBody)); diff != "" {
		t.Error(diff)
	}
	s.api.warnings = []string{`299 - "mind the gap"`}
	got = s.post(submitPage, append(typed, "do", "check")...)
	contains(t, got, http.StatusOK, "would accept the job", "mind the gap", `value="example.com/bert:1"`,
		"typed: too")
	got = s.post(submitPage, append(typed, "do", "show")...)
	contains(t, got, http.StatusOK, "  image: example.com/bert:1\n", `value="example.com/bert:1"`)
	if diff := cmp.Diff([]string{"create team-a ", "create team-a All"}, s.api.asked); diff != "" {
		t.Error(diff)
	}
}

// TestSubmitErrors: errors of the API are next to their fields, and the form keeps what was typed.
func TestSubmitErrors(t *testing.T) {
	s := newServer(t)
	s.api.refuses = problem.New(problem.Invalid, "", "").WithErrors([]problem.Error{
		{Field: "spec.replicas", Detail: "is too many", Remedy: "request less"},
		{Field: "spec.command[0]", Detail: "is no program"},
		{Field: "spec.runPolicy.schedulingPolicy.minAvailable", Detail: "exceeds the ranks"},
		{Field: "spec.commander", Detail: "unknown field"},
		{Field: "metadata.namespace", Detail: "is closed"},
	})
	got := s.post(submitPage, "namespace", "team-a", "name", hostile, "workers", "4", "command", "train",
		"framework", "jax", "manifest", "kept: 1", "do", "submit")
	contains(t, got, http.StatusUnprocessableEntity,
		`id="e-workers"><li>is too many: <span class="remedy">request less</span>`,
		`id="e-command"><li>is no program`, `id="e-namespace"><li>is closed`,
		`aria-invalid="true" aria-describedby="e-workers"`, `<code>spec.commander</code>`,
		`<code>spec.runPolicy.schedulingPolicy.minAvailable</code>: exceeds the ranks`, "kept: 1",
		"<option selected>jax", "&lt;img src=x")
	fragmenttest.Document(t, got.body)
	s.api.refuses = nil
	got = s.post(submitPage, "namespace", "team-a", "workers", "four", "memory", "much", "command", "'",
		"do", "check")
	contains(t, got, http.StatusUnprocessableEntity, `id="e-workers"><li>&#34;four&#34; is not an integer`,
		`id="e-memory"`, `id="e-command"`, `value="four"`)
	contains(t, s.post(submitPage, "do", "check"), http.StatusUnprocessableEntity, `id="e-namespace"`)
	contains(t, s.post(submitPage, "do", "dance"), http.StatusUnprocessableEntity, "form.do")
	if want := []string{"create team-a "}; !slices.Equal(s.api.asked, want) {
		t.Errorf("asked for %v", s.api.asked)
	}
}

const manifest = `kind: TrainingJob
metadata:
  name: bert
  namespace: team-c
spec:
  replicas: 4
  resources:
    limits:
      nvidia.com/gpu: 8
  env:
  - name: A
  - name: B
    value: "1"
`

// TestSubmitManifest: errors of a manifest have its lines; its namespace applies if none is typed.
func TestSubmitManifest(t *testing.T) {
	s := newServer(t)
	s.api.refuses = problem.New(problem.Invalid, "", "").WithErrors([]problem.Error{
		{Field: "spec.replicas", Detail: "is too many"}, {Field: "spec.env[1].value", Detail: "is bad"},
		{Field: "spec.image", Detail: "is missing", Remedy: "give one"},
		{Field: "metadata.namespace", Detail: "is closed"},
	})
	got := s.post(submitPage, "manifest", manifest, "do", "submit-manifest", "name", "kept")
	contains(t, got, http.StatusUnprocessableEntity, "<li>line 6: spec.replicas: is too many",
		"<li>line 13: spec.env[1].value: is bad", "<li>line 5: spec.image: is missing",
		"line 4: metadata.namespace",
		`id="e-namespace"><li>is closed`, `value="kept"`, "  name: bert\n")
	if strings.Contains(got.body, `id="e-workers"`) {
		t.Error("an error of the manifest is next to the form")
	}
	s.api.refuses = nil
	got = s.post(submitPage, "manifest", manifest, "do", "check-manifest")
	contains(t, got, http.StatusOK, "would accept the job")
	want := []string{"create team-c ", "create team-c All"}
	if diff := cmp.Diff(want, s.api.asked); diff != "" {
		t.Error(diff)
	}
	if string(s.api.created[1].RawBody) != manifest {
		t.Errorf("sent %s", s.api.created[1].RawBody)
	}
}

// TestManifestsWait: the board decodes a manifest only after BeginDecoding.
func TestManifestsWait(t *testing.T) {
	s := newServer(t)
	begun, left := 0, 0
	s.board.BeginDecoding = func(context.Context, int) (func(), error) {
		begun++
		if begun == 3 {
			return nil, problem.New(problem.Unavailable, "too many large bodies", "wait")
		}
		return func() { left++ }, nil
	}
	s.api.refuses = problem.New(problem.Invalid, "is bad", "")
	got := s.post(submitPage, "manifest", manifest, "do", "check-manifest")
	if contains(t, got, http.StatusUnprocessableEntity, "is bad"); begun != 2 || left != 2 {
		t.Errorf("begun %d times, ended %d times", begun, left)
	}
	got = s.post(submitPage, "manifest", manifest, "do", "check-manifest")
	contains(t, got, http.StatusServiceUnavailable, "too many large bodies")
}

func TestLineOf(t *testing.T) {
	document, err := boundedyaml.Parse([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]int{
		"spec": 5, "spec.resources.limits[nvidia.com/gpu]": 9, "spec.resources.limits.cpu": 8,
		"spec.env[0].name": 11, "spec.env[7]": 10, "metadata.labels": 2, "status": 0, "": 0,
	} {
		if got := lineOf(document, field); got != want {
			t.Errorf("%s is in line %d, want %d", field, got, want)
		}
	}
	empty, err := boundedyaml.Parse(nil)
	if err != nil || lineOf(empty, "spec") != 0 || lineOf(nil, "spec") != 0 {
		t.Errorf("an empty document has lines, %v", err)
	}
}

// TestFormWithoutGPUs: without a GPU resource the form has no field for GPUs.
func TestFormWithoutGPUs(t *testing.T) {
	has := func(gpu string) bool {
		return slices.ContainsFunc(inputs(nil, gpu), func(i input) bool { return i.Key == fieldGPUs })
	}
	if !has("nvidia.com/gpu") || has("") {
		t.Errorf("with a resource: %t, without: %t", has("nvidia.com/gpu"), has(""))
	}
	manifest, errs := fromForm(url.Values{fieldName: {"bert"}, fieldGPUs: {"8"}}, "")
	if len(errs) > 0 || strings.Contains(string(manifest), "resources") {
		t.Errorf("%v\n%s", errs, manifest)
	}
}
