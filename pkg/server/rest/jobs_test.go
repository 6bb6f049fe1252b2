package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// list as it is answered.
type list struct {
	Metadata ListMetadata
	Items    []v1alpha1.TrainingJob
}

func (l list) names() string {
	var all []string
	for i := range l.Items {
		all = append(all, l.Items[i].Namespace+"/"+l.Items[i].Name)
	}
	return strings.Join(all, " ")
}

// TestLists: everybody sees what they may list, page by page, and what they ask for.
func TestLists(t *testing.T) {
	running := inPhase(v1alpha1.PhaseRunning)
	queue := func(name string) func(*v1alpha1.TrainingJob) {
		return func(job *v1alpha1.TrainingJob) {
			job.Status.Scheduling = &v1alpha1.SchedulingStatus{Queue: name}
			job.Spec.RunPolicy.SchedulingPolicy.Queue = "named"
		}
	}
	s := newServer(t, newJob("team-a", "a1", running), newJob("team-a", "a2", queue("used")),
		newJob("team-b", "b1", running, queue("used")), newJob("team-c", "c1"))
	for name, c := range map[string]struct{ user, path, want string }{
		"all":                     {"ann", "trainingjobs", "team-a/a1 team-a/a2 team-b/b1 team-c/c1"},
		"those of one's own":      {"bob", "trainingjobs", "team-a/a1 team-a/a2"},
		"none without rights":     {"eve", "trainingjobs", ""},
		"a namespace":             {"bob", teamA, "team-a/a1 team-a/a2"},
		"an empty namespace":      {"ann", "namespaces/nothing/trainingjobs", ""},
		"a phase":                 {"ann", "trainingjobs?phase=Running", "team-a/a1 team-b/b1"},
		"several phases":          {"ann", "trainingjobs?phase=Running,Queued", "team-a/a1 team-b/b1"},
		"the queue it is in":      {"ann", "trainingjobs?queue=used", "team-a/a2 team-b/b1"},
		"not the one in the spec": {"ann", "trainingjobs?queue=named", ""},
		"labels":                  {"ann", "trainingjobs?labelSelector=name+in+(a1,c1)", "team-a/a1 team-c/c1"},
		"filters together":        {"bob", "trainingjobs?phase=Running&labelSelector=name", "team-a/a1"},
	} {
		var got list
		s.do(request{path: c.path, user: c.user}).decode(t, http.StatusOK, &got)
		if got.names() != c.want || got.Metadata.Next != "" || got.Metadata.Position == "" {
			t.Errorf("%s: %s, %+v, want %s", name, got.names(), got.Metadata, c.want)
		}
	}
	// By pages of one, where a job goes and another comes meanwhile.
	var pages []string
	for path := "/api/v1/clusters/main/trainingjobs?limit=1&labelSelector=name"; path != ""; {
		var got list
		answer := s.do(request{path: path})
		answer.decode(t, http.StatusOK, &got)
		pages = append(pages, got.names())
		if len(pages) == 1 {
			s.source.handler.OnDelete(newJob("team-a", "a1"))
			s.source.handler.OnAdd(newJob("team-a", "a0"), false)
		}
		path = got.Metadata.Next
		if link := answer.Header.Get("Link"); path != "" && link != "<"+path+`>; rel="next"` {
			t.Errorf("Link: %s, next %s", link, path)
		}
		if len(pages) == 1 {
			other := s.do(request{path: strings.Replace(path, "labelSelector=name", "labelSelector=x", 1)})
			if p := other.problem(t); p.Field != "query.continue" {
				t.Errorf("the token of another list: %s", other.body)
			}
		}
	}
	want := []string{"team-a/a1", "team-a/a2", "team-b/b1", "team-c/c1"}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// TestShown: a job is shown as the cluster has it, in lists as alone, without managed fields.
func TestShown(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert"))
	var alone map[string]any
	answer := s.do(request{path: teamA + "/bert"})
	answer.decode(t, http.StatusOK, &alone)
	var listed struct{ Items []map[string]any }
	s.do(request{path: teamA}).decode(t, http.StatusOK, &listed)
	if diff := cmp.Diff(alone, listed.Items[0]); diff != "" {
		t.Errorf("-alone +listed:\n%s", diff)
	}
	meta, _ := alone["metadata"].(map[string]any)
	if alone["kind"] != "TrainingJob" || alone["apiVersion"] != "mlplatform.example.com/v1alpha1" ||
		meta["managedFields"] != nil || meta["uid"] != "uid-bert" {
		t.Errorf("%s", answer.body)
	}
	tag := answer.Header.Get("ETag")
	if tag != `"uid-bert/999"` {
		t.Errorf("ETag %s", tag)
	}
	for header, want := range map[string]int{
		tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"uid-bert/998"`: 200, `"x"`: 200,
	} {
		again := s.do(request{path: teamA + "/bert", headers: []string{"If-None-Match: " + header}})
		if again.StatusCode != want || want == 304 && len(again.body) > 0 {
			t.Errorf("If-None-Match %s: %d %s", header, again.StatusCode, again.body)
		}
	}
}

// TestClusters: the first is the default, and an unavailable one is not synced.
func TestClusters(t *testing.T) {
	var got struct{ Items []ClusterStatus }
	newServer(t).do(request{path: "/api/v1/clusters"}).decode(t, http.StatusOK, &got)
	if diff := cmp.Diff([]ClusterStatus{{"main", true, true}, {"other", false, false}}, got.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCreate: a job is created as it was sent, from JSON and YAML; a dry run leaves nothing.
func TestCreate(t *testing.T) {
	s := newServer(t)
	const text = `{"apiVersion":"mlplatform.example.com/v1alpha1","kind":"TrainingJob",
		"metadata":{"name":"bert","namespace":"team-a"},"spec":{"framework":"pytorch","replicas":2}}`
	dry := s.do(request{method: "POST", path: teamA + "?dryRun=All", body: text})
	if dry.StatusCode != http.StatusCreated || dry.Header.Get("Location") != "" {
		t.Errorf("dry run: %d %s", dry.StatusCode, dry.body)
	}
	if got := s.do(request{path: teamA + "/bert"}); got.StatusCode != http.StatusNotFound {
		t.Errorf("after the dry run: %d %s", got.StatusCode, got.body)
	}
	created := s.do(request{method: "POST", path: teamA, body: text})
	if created.StatusCode != http.StatusCreated || created.Header.Get("ETag") == "" {
		t.Fatalf("%d %s", created.StatusCode, created.body)
	}
	got := s.do(request{path: created.Header.Get("Location")})
	if string(got.body) != string(created.body) {
		t.Errorf("got %s, created %s", got.body, created.body)
	}
	yaml := s.do(request{method: "POST", path: teamA,
		headers: []string{"Content-Type: application/yaml; charset=utf-8"},
		body:    "metadata: {name: other}\nspec: {framework: pytorch, replicas: 3}\n"})
	var job v1alpha1.TrainingJob
	yaml.decode(t, http.StatusCreated, &job)
	if job.Namespace != "team-a" || *job.Spec.Replicas != 3 {
		t.Errorf("%s", yaml.body)
	}
}

// TestPatch: both kinds change the job, and a dry run does not.
func TestPatch(t *testing.T) {
	for name, c := range map[string]struct{ headers, body string }{
		"merge patch": {merge, `{"spec":{"replicas":7}}`},
		"JSON patch": {jsonP, `[{"op":"test","path":"/status/phase","value":"Queued"},
			{"op":"replace","path":"/spec/replicas","value":7}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, newJob("team-a", "bert", inPhase(v1alpha1.PhaseQueued)))
			r := request{method: "PATCH", path: teamA + "/bert?dryRun=All", body: c.body, headers: []string{c.headers}}
			var job v1alpha1.TrainingJob
			s.do(r).decode(t, http.StatusOK, &job)
			if left := s.stored(&job); *left.Spec.Replicas != 2 {
				t.Errorf("after a dry run there are %d ranks", *left.Spec.Replicas)
			}
			r.path = teamA + "/bert"
			s.do(r).decode(t, http.StatusOK, &job)
			if left := s.stored(&job); *left.Spec.Replicas != 7 {
				t.Errorf("%d ranks", *left.Spec.Replicas)
			}
		})
	}
}

// TestPreconditions: a change is made to the version, or the job, that If-Match names, or not at all. What
// the API server makes of a wrong UID is tested against a real one.
func TestPreconditions(t *testing.T) {
	for name, c := range map[string]struct {
		tag  string
		want int
	}{
		"this version":    {`"uid-bert/999"`, 200},
		"its version":     {`"999"`, 200},
		"any":             {`*`, 200},
		"another version": {`"uid-bert/998"`, 412},
		"an old version":  {`"998"`, 412},
	} {
		for method, r := range map[string]request{
			"merge": {method: "PATCH", path: teamA + "/bert", body: `{"spec":{"replicas":7}}`,
				headers: []string{merge}},
			"json": {method: "PATCH", path: teamA + "/bert", headers: []string{jsonP},
				body: `[{"op":"replace","path":"/spec/replicas","value":7}]`},
			"suspend": {method: "POST", path: teamA + "/bert/suspend"},
			"delete":  {method: "DELETE", path: teamA + "/bert"},
		} {
			t.Run(name+"/"+method, func(t *testing.T) {
				s := newServer(t, newJob("team-a", "bert"))
				r.headers = append(r.headers, "If-Match: "+c.tag)
				want := c.want
				if method == "delete" && want == 200 {
					want = http.StatusNoContent
				}
				got := s.do(r)
				if got.StatusCode != want {
					t.Fatalf("%d, want %d: %s", got.StatusCode, want, got.body)
				}
				if want != http.StatusPreconditionFailed {
					return
				}
				if p := got.problem(t); p.Type != problem.PreconditionFailed.URI || p.Field != "header.If-Match" {
					t.Errorf("%s", got.body)
				}
				if job := s.stored(newJob("team-a", "bert")); *job.Spec.Replicas != 2 ||
					job.Spec.RunPolicy.Suspend != nil {
					t.Errorf("it was changed: %+v", job.Spec)
				}
			})
		}
	}
}

// TestConflictWithout If-Match: a version in the patch itself is a conflict, and no failed precondition.
func TestConflictWithoutIfMatch(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert"))
	got := s.do(request{method: "PATCH", path: teamA + "/bert", headers: []string{merge},
		body: `{"metadata":{"resourceVersion":"998"},"spec":{"replicas":7}}`})
	if p := got.problem(t); p.Type != problem.Conflict.URI {
		t.Errorf("%s", got.body)
	}
}

// TestActions: each changes what the operator acts upon, once for each request; dry runs change nothing.
func TestActions(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", inPhase(v1alpha1.PhaseRunning)))
	act := func(action string) *v1alpha1.TrainingJob {
		t.Helper()
		var job v1alpha1.TrainingJob
		s.do(request{method: "POST", path: teamA + "/bert/" + action}).decode(t, http.StatusOK, &job)
		return s.stored(&job)
	}
	if job := act("suspend?dryRun=All"); job.Spec.RunPolicy.Suspend != nil {
		t.Error("a dry run suspends")
	}
	if job := act("suspend"); !*job.Spec.RunPolicy.Suspend {
		t.Error("it is not suspended")
	}
	if job := act("resume"); *job.Spec.RunPolicy.Suspend {
		t.Error("it is not resumed")
	}
	first := act("restart").Annotations[v1alpha1.AnnotationRestart]
	s.clock.SetTime(now.Add(1))
	if second := act("restart").Annotations[v1alpha1.AnnotationRestart]; first == "" || first == second {
		t.Errorf("restarts %q and %q", first, second)
	}
}

// TestDelete: by default in the background. A dry run deletes nothing: whether it reaches a real API server
// is tested there.
func TestDelete(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert"))
	for path, want := range map[string]int{"?dryRun=All": 200, "?propagationPolicy=Foreground&dryRun=All": 200} {
		if got := s.do(request{method: "DELETE", path: teamA + "/bert" + path}); got.StatusCode != 204 {
			t.Errorf("%s: %d, want %d: %s", path, got.StatusCode, want, got.body)
		}
		s.stored(newJob("team-a", "bert"))
	}
	if got := s.do(request{method: "DELETE", path: teamA + "/bert"}); got.StatusCode != 204 {
		t.Errorf("%d: %s", got.StatusCode, got.body)
	}
	ctx := as(t.Context(), "ann")
	err := s.access.client.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "bert"}, &v1alpha1.TrainingJob{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// TestWarnings: what an API server warns of is in the answer of the request that it is about.
func TestWarnings(t *testing.T) {
	ctx, w := collectWarnings(t.Context())
	for _, text := range []string{"static rendezvous", "static rendezvous", "bad\x00bytes"} {
		WarningHandler{}.HandleWarningHeaderWithContext(ctx, 299, "-", text)
	}
	WarningHandler{}.HandleWarningHeaderWithContext(ctx, 199, "-", "not a warning of Kubernetes")
	WarningHandler{}.HandleWarningHeaderWithContext(t.Context(), 299, "-", "without request")
	for n := range 100 {
		WarningHandler{}.HandleWarningHeaderWithContext(ctx, 299, "-", fmt.Sprint("many ", n))
	}
	got := w.headers()
	if got[0] != `299 - "static rendezvous"` || len(got) > maxWarnings {
		t.Errorf("%d: %q", len(got), got)
	}
}

// TestDocument: the contract is served without authentication.
func TestDocument(t *testing.T) {
	got := newServer(t).do(request{path: "/api/v1/openapi.json", user: "eve"})
	var document struct{ Info struct{ Version string } }
	got.decode(t, http.StatusOK, &document)
	if document.Info.Version != "test" {
		t.Errorf("version %s", document.Info.Version)
	}
}

// TestJobSchema: every field of a job is in the document, those of Kubernetes' own types open.
func TestJobSchema(t *testing.T) {
	raw, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	schemas := document.Components.Schemas
	var fields []string
	for name := range schemas["TrainingJob"].Properties {
		fields = append(fields, name)
	}
	if len(fields) != 5 || schemas["TrainingJob"].Properties["metadata"]["type"] != "object" {
		t.Errorf("a TrainingJob has %v", fields)
	}
	spec := schemas["TrainingJob.TrainingJobSpec"]
	for field, want := range map[string]string{"replicas": "integer", "command": "array",
		"framework": "string"} {
		if got := spec.Properties[field]["type"]; got != want {
			t.Errorf("spec.%s is a %v, want %s", field, got, want)
		}
	}
	if got := schemas["TrainingJob.TrainingJobStatus"].Properties["startTime"]["format"]; got != "date-time" {
		t.Errorf("status.startTime is a %v", got)
	}
}
