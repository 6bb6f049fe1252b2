package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

const (
	teamA = "namespaces/team-a/trainingjobs"
	merge = "Content-Type: " + typeMergePatch
	jsonP = "Content-Type: " + typeJSONPatch
)

// TestProblems: every way in which a request can be wrong, with the field that is and a remedy.
func TestProblems(t *testing.T) {
	finished := newJob("team-a", "done", inPhase(v1alpha1.PhaseSucceeded))
	suspended := newJob("team-a", "held", inPhase(v1alpha1.PhaseSuspended),
		func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.Suspend = new(true) })
	s := newServer(t, newJob("team-a", "bert", inPhase(v1alpha1.PhaseQueued)), newJob("team-b", "gpt"), finished,
		suspended)
	valid := `{"metadata":{"name":"new"},"spec":{"framework":"pytorch"}}`
	for name, c := range map[string]struct {
		request
		typ    problem.Type
		field  string
		detail string
	}{
		"unknown path": {request{path: "/api/v1/nothing"}, problem.NotFound, "", "unknown path"},
		"no such method": {
			request{method: "PUT", path: teamA + "/bert"},
			problem.MethodNotAllowed, "", "PUT",
		},
		"unknown cluster": {
			request{path: "/api/v1/clusters/x/trainingjobs"},
			problem.NotFound, "path.cluster", "x",
		},
		"not synced": {
			request{path: "/api/v1/clusters/other/trainingjobs"},
			problem.NotSynced, "", "other",
		},
		"events: not synced": {
			request{path: "/api/v1/clusters/other/events"},
			problem.NotSynced, "", "other",
		},
		"a namespace that cannot be": {
			request{path: "namespaces/..%2Fsecrets/trainingjobs"}, problem.Invalid, "path.namespace", "pattern"},
		"a name that cannot be": {
			request{path: teamA + "/a%2F..%2Fb"}, problem.Invalid, "path.name", "pattern"},
		"unknown parameter": {request{path: teamA + "?limi=1"}, problem.Invalid, "query.limi", "unknown"},
		"limit of nothing":  {request{path: teamA + "?limit=0"}, problem.Invalid, "query.limit", ">= 1"},
		"more samples than are read at once": {
			request{path: "history/jobs/uid-old/samples?limit=2001"}, problem.Invalid, "query.limit", "<= 2000",
		},
		"limit too large": {
			request{path: teamA + "?limit=501"},
			problem.Invalid, "query.limit", "<= 500",
		},
		"limit of a word": {
			request{path: teamA + "?limit=all"},
			problem.Invalid, "query.limit", "invalid integer",
		},
		"unknown phase": {
			request{path: teamA + "?phase=Lost"},
			problem.Invalid, "query.phase[0]", "one of",
		},
		"bad selector": {
			request{path: teamA + "?labelSelector=a+b"},
			problem.Invalid, "query.labelSelector", "selector",
		},
		"bad token": {
			request{path: teamA + "?continue=abc"},
			problem.Invalid, "query.continue", "token",
		},
		"anonymous": {request{path: teamA, user: "anonymous"}, problem.Unauthenticated, "", "credentials"},
		"job of another namespace": {
			request{path: teamA + "/bert", user: "anonymous"},
			problem.Unauthenticated, "", "credentials",
		},
		"history of another namespace": {
			request{path: "history/jobs", user: "anonymous"},
			problem.Unauthenticated, "", "credentials",
		},
		"list forbidden": {request{path: "namespaces/team-b/trainingjobs", user: "bob"}, problem.Forbidden, "",
			`User "bob" cannot list resource "trainingjobs" in the namespace "team-b"`},
		"events forbidden": {request{path: "events?namespace=team-b", user: "bob"}, problem.Forbidden, "",
			`User "bob" cannot list`},
		"a name without its namespace": {
			request{path: "events?name=bert"},
			problem.Invalid, "query.name", "namespace",
		},
		"get forbidden": {request{path: "namespaces/team-b/trainingjobs/gpt", user: "bob"}, problem.Forbidden, "",
			`User "bob" cannot get`},
		"get not found": {request{path: teamA + "/none"}, problem.NotFound, "", `"none" not found`},

		"create without a body": {
			request{method: "POST", path: teamA},
			problem.Malformed, "", "required",
		},
		"create no JSON": {
			request{method: "POST", path: teamA, body: "{"},
			problem.Malformed, "body", "read",
		},
		"create no YAML": {request{method: "POST", path: teamA, body: "a: b: c",
			headers: []string{"Content-Type: application/yaml"}}, problem.Malformed, "body", "YAML"},
		"create as a form": {request{method: "POST", path: teamA, body: valid,
			headers: []string{"Content-Type: text/plain"}}, problem.UnsupportedMediaType, "header.Content-Type",
			"text/plain"},
		"create too large": {request{method: "POST", path: teamA, body: strings.Repeat(" ", maxBody+1)},
			problem.TooLarge, "", "too large"},
		"unknown field": {request{method: "POST", path: teamA,
			body: `{"metadata":{"name":"n"},"spec":{"replica":1}}`},
			problem.Malformed, "spec.replica", "unknown field"},
		"unknown field in a template": {request{method: "POST", path: teamA, body: `{"metadata":{"name":"n"},
			"spec":{"replicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"name":"a","imag":"b"}]}}}}}}`},
			problem.Malformed, "spec.replicaSpecs.Worker.template.spec.containers[0].imag", "unknown field"},
		"YAML that expands to a gigabyte": {request{method: "POST", path: teamA,
			body:    fmt.Sprintf("a: &a %q\nb: [%s]", strings.Repeat("x", 100<<10), strings.Repeat("*a,", 30_000)),
			headers: []string{"Content-Type: application/yaml"}}, problem.Malformed, "body", "4 MiB"},
		"unknown field in YAML": {request{method: "POST", path: teamA, body: "metadata: {name: new}\nspek: {}",
			headers: []string{"Content-Type: application/yaml"}}, problem.Malformed, "spek", "unknown field"},
		"a field twice": {request{method: "POST", path: teamA, body: `{"metadata":{"name":"n","name":"m"}}`},
			problem.Malformed, "metadata.name", "duplicate"},
		"a number that is a word": {request{method: "POST", path: teamA, body: `{"spec":{"replicas":"two"}}`},
			problem.Malformed, "spec.replicas", "string"},
		"another kind": {request{method: "POST", path: teamA, body: `{"kind":"Job","metadata":{"name":"n"}}`},
			problem.Malformed, "kind", `"Job"`},
		"another version": {request{method: "POST", path: teamA,
			body: `{"apiVersion":"v1","metadata":{"name":"n"}}`},
			problem.Malformed, "apiVersion", `"v1"`},
		"another namespace": {request{method: "POST", path: teamA,
			body: `{"metadata":{"name":"n","namespace":"team-b"}}`}, problem.Malformed, "metadata.namespace",
			"team-b"},
		"no name": {
			request{method: "POST", path: teamA, body: `{}`},
			problem.Malformed, "metadata.name", "no name",
		},
		"create with status": {request{method: "POST", path: teamA, body: `{"metadata":{"name":"n"},"status":{}}`},
			problem.Malformed, "status", "operator"},
		"create with a version": {request{method: "POST", path: teamA,
			body: `{"metadata":{"resourceVersion":"1"}}`},
			problem.Malformed, "metadata.resourceVersion", "cluster"},
		"a name that is taken": {request{method: "POST", path: teamA, body: strings.Replace(valid, "new", "bert",
			1)},
			problem.AlreadyExists, "", "already exists"},
		"create forbidden": {request{method: "POST", path: teamA, body: valid, user: "eve"}, problem.Forbidden, "",
			`User "eve" cannot create`},
		"dry run of a word": {request{method: "POST", path: teamA + "?dryRun=true", body: valid}, problem.Invalid,
			"query.dryRun", "one of"},
		"patch of no type": {request{method: "PATCH", path: teamA + "/bert", body: "{}",
			headers: []string{"Content-Type: application/json"}}, problem.UnsupportedMediaType, "header.Content-Type",
			""},
		"patch of the status": {request{method: "PATCH", path: teamA + "/bert", body: `{"status":null}`,
			headers: []string{merge}}, problem.Malformed, "status", "operator"},
		"patch of managed fields": {request{method: "PATCH", path: teamA + "/bert",
			body: `{"metadata":{"managedFields":[]}}`, headers: []string{merge}}, problem.Malformed,
			"metadata.managedFields", "cluster"},
		"patch of the name": {request{method: "PATCH", path: teamA + "/bert", body: `{"metadata":{"name":"x"}}`,
			headers: []string{merge}}, problem.Malformed, "metadata.name", "path"},
		"patch to nothing": {request{method: "PATCH", path: teamA + "/bert", body: `null`,
			headers: []string{merge}},
			problem.Malformed, "body", "object"},
		"patch of no metadata": {request{method: "PATCH", path: teamA + "/bert", body: `{"metadata":null}`,
			headers: []string{merge}}, problem.Malformed, "metadata", "object"},
		"JSON patch that is none": {request{method: "PATCH", path: teamA + "/bert", body: `{}`,
			headers: []string{jsonP}}, problem.Malformed, "body", "array"},
		"JSON patch of the status": {request{method: "PATCH", path: teamA + "/bert",
			body: `[{"op":"replace","path":"/status/phase","value":"x"}]`, headers: []string{jsonP}},
			problem.Malformed, "status", "operator"},
		"JSON patch that moves the status": {request{method: "PATCH", path: teamA + "/bert",
			body: `[{"op":"move","from":"/status","path":"/spec/x"}]`, headers: []string{jsonP}},
			problem.Malformed, "status", "operator"},
		"JSON patch of everything": {request{method: "PATCH", path: teamA + "/bert",
			body: `[{"op":"replace","path":"","value":{}}]`, headers: []string{jsonP}}, problem.Malformed, "body", ""},
		"If-Match without quotes": {request{method: "DELETE", path: teamA + "/bert",
			headers: []string{"If-Match: 1"}},
			problem.Invalid, "header.If-Match", "not an ETag"},
		"If-Match of several": {request{method: "DELETE", path: teamA + "/bert",
			headers: []string{`If-Match: "1", "2"`}}, problem.Invalid, "header.If-Match", "not an ETag"},
		"delete what is not there": {
			request{method: "DELETE", path: teamA + "/none"},
			problem.NotFound, "", "",
		},
		"restart of a finished job": {request{method: "POST", path: teamA + "/done/restart"}, problem.Conflict, "",
			"Succeeded"},
		"resume of a finished job": {request{method: "POST", path: teamA + "/done/resume"}, problem.Conflict, "",
			"Succeeded"},
		"restart of a suspended job": {request{method: "POST", path: teamA + "/held/restart"}, problem.Conflict, "",
			"suspended"},
		"logs of no role": {
			request{path: teamA + "/bert/logs?role=PS"},
			problem.Invalid, "query.role", "PS",
		},
		"logs of no rank": {
			request{path: teamA + "/bert/logs?index=2"},
			problem.Invalid, "query.index", "2 ranks",
		},
		"history: unknown job": {request{path: "history/jobs/x"}, problem.NotFound, "", "known"},
		"history: a UID that cannot be": {
			request{path: "history/jobs/a%2Fb"},
			problem.Invalid, "path.uid", "pattern",
		},
		"history: no time": {
			request{path: "history/jobs?from=monday"},
			problem.Invalid, "query.from", "date",
		},
		"history forbidden": {
			request{path: "history/jobs?namespace=team-b", user: "bob"},
			problem.Forbidden, "", "bob",
		},
		"accounting by weight": {
			request{path: "accounting?by=weight"},
			problem.Invalid, "query.by[0]", "one of",
		},
		"accounting of no day": {
			request{path: "accounting?from=1.1.2026"},
			problem.Invalid, "query.from", "date",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(c.request)
			p := got.problem(t)
			if p.Type != c.typ.URI || p.Status != c.typ.Status || p.Field != c.field ||
				!strings.Contains(p.Detail, c.detail) || p.Remedy == "" {
				t.Errorf("%s", got.body)
			}
		})
	}
	if len(*s.logged) > 0 {
		t.Errorf("what clients do wrong is logged: %v", *s.logged)
	}
}

// TestFailures: what fails without the client's doing says so, and only the log says why.
func TestFailures(t *testing.T) {
	const secret = "dial tcp 10.0.0.1:6443: connection refused"
	for name, c := range map[string]struct {
		path          string
		cluster, past error
		want          problem.Type
		field         string
	}{
		"the cluster is away":    {teamA + "/bert", errors.New(secret), nil, problem.BadGateway, ""},
		"reviews fail":           {teamA, errors.New(secret), nil, problem.BadGateway, ""},
		"the history is away":    {"history/jobs", nil, errors.New(secret), problem.Unavailable, ""},
		"the accounting is away": {"accounting", nil, errors.New(secret), problem.Unavailable, ""},
		"a cursor of another list": {"history/jobs?continue=x", nil, store.ErrBadCursor, problem.Invalid,
			"query.continue"},
		"what the accounting refuses": {"accounting", nil, fmt.Errorf("%w: to: give a day after from",
			store.ErrBadQuery), problem.Invalid, "query.to"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, newJob("team-a", "bert"))
			s.access.away, s.past.err = c.cluster, c.past
			got := s.do(request{path: c.path})
			p := got.problem(t)
			if p.Type != c.want.URI || p.Field != c.field || strings.Contains(string(got.body), secret) {
				t.Errorf("%s", got.body)
			}
			logged := strings.Contains(strings.Join(*s.logged, "\n"), secret)
			if failed := p.Status >= http.StatusInternalServerError; logged != failed {
				t.Errorf("status %d, and the log has %v", p.Status, *s.logged)
			}
			if p.Status == http.StatusBadGateway && got.Header.Get("Retry-After") == "" {
				t.Error("it does not say when to ask again")
			}
		})
	}
}

// TestTooManyNamespaces: a caller who may not list all at once gets an error that proposes one namespace,
// and one namespace works.
func TestTooManyNamespaces(t *testing.T) {
	s := newServer(t, newJob("team-a", "a1"), newJob("team-b", "b1"), newJob("team-c", "c1"))
	s.access.most = 2
	if err := queues.AddToScheme(s.scheme); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"trainingjobs": http.StatusForbidden, "events": http.StatusForbidden, "queues": http.StatusForbidden,
		"namespaces/team-a/trainingjobs": http.StatusOK, "queues?namespace=team-a": http.StatusOK,
		"history/jobs?namespace=team-a": http.StatusOK, "accounting?namespace=team-a": http.StatusOK,
	} {
		got := s.do(request{path: path, user: "bob"})
		if got.StatusCode != want || want != http.StatusOK && !strings.Contains(string(got.body), "one namespace") {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
	if got := s.do(request{path: "trainingjobs", user: "ann"}); got.StatusCode != http.StatusOK {
		t.Errorf("who may list all: %d %s", got.StatusCode, got.body)
	}
}
