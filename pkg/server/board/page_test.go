package board

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

func hostileJob() *v1alpha1.TrainingJob {
	return newJob("a", "bert", func(job *v1alpha1.TrainingJob) {
		job.Annotations = map[string]string{"note": hostile + "</pre><script>alert(2)</script>"}
		job.Spec.RunPolicy.SchedulingPolicy.Queue = hostile
		b := &v1alpha1.Blocker{Reason: "QuotaExceeded", Message: hostile, NextStep: hostile}
		job.Status = v1alpha1.TrainingJobStatus{
			Phase: v1alpha1.PhaseQueued, Message: hostile, Scheduling: &v1alpha1.SchedulingStatus{Blocker: b},
		}
	})
}

func contains(t *testing.T, a answer, status int, parts ...string) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("status %d, want %d", a.StatusCode, status)
	}
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			t.Errorf("%q is not in %s", part, a.body)
		}
	}
}

const jobPage = "/board/clusters/main/namespaces/a/jobs/bert"

// TestPagesAreStrict: no page has anything that its policy forbids, text of users is escaped, and the policy
// is strict.
func TestPagesAreStrict(t *testing.T) {
	s := newServer(t, hostileJob())
	s.api.nodes = []*placement.OnNode{onNode("node-1", s.api.jobs...)}
	s.api.queues = []queues.Queue{{Kind: "Queue", Name: hostile}}
	s.api.past = []history.Job{past(hostile, nil)}
	s.api.past[0].UID, s.api.past[0].User, s.api.past[0].Message = "uid", hostile, hostile
	for path, status := range map[string]int{
		mainMap: http.StatusOK,
		mainMap + "?view=table&node=%3Cscript%3E": http.StatusOK,
		mainQueues:                     http.StatusOK,
		mainQueues + "?q=%3Cscript%3E": http.StatusOK,
		mainQueues + "?%3Cscript%3E=1": http.StatusUnprocessableEntity,
		mainAccounting:                 http.StatusOK,
		mainAccounting + "?by=job&namespace=%3Cscript%3E": http.StatusOK,
		mainAccounting + "?%3Cscript%3E=1":                http.StatusUnprocessableEntity,
		mainAccounting + ".csv?%3Cscript%3E=1":            http.StatusUnprocessableEntity,
		mainHistory:                                       http.StatusOK,
		mainHistory + "?user=%3Cscript%3E":                http.StatusOK,
		mainHistory + "?%3Cscript%3E=1":                   http.StatusUnprocessableEntity,
		mainMap + "?%3Cscript%3E=1":                       http.StatusUnprocessableEntity,
		mainJobs:                                          http.StatusOK,
		mainJobs + "?q=%3Cscript%3E":                      http.StatusOK,
		jobPage:                                           http.StatusOK,
		jobPage + "?done=suspend":                         http.StatusOK,
		jobPage + "/yaml":                                 http.StatusOK,
		jobPage + "/delete":                               http.StatusOK,
		"/board/clusters/main/submit":                     http.StatusOK,
		mainJobs + "?%3Cscript%3E=1":                      http.StatusUnprocessableEntity,
		"/board/%3Cscript%3E":                             http.StatusNotFound,
		"/board/clusters/%3Cscript%3E/jobs":               http.StatusNotFound,
		"/board/clusters/none/submit":                     http.StatusNotFound,
	} {
		got := s.get(path)
		contains(t, got, status, "<!doctype html>", "</html>", ">ann<", `action="/logout"`, `value="token"`)
		fragmenttest.Document(t, got.body)
		forms := strings.Split(got.body, `<form `)[1:]
		for _, form := range forms {
			if strings.Contains(form, `method="post"`) && !strings.Contains(form, `name="csrf" value="token"`) {
				t.Errorf("%s: a form has no token: %s", path, form)
			}
		}
		if strings.Contains(got.body, "<img") || strings.Contains(got.body, "<script>") {
			t.Errorf("%s: %s", path, got.body)
		}
		policy := got.Header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
		} {
			if !strings.Contains(policy+";", part+";") {
				t.Errorf("%s: %q is not in the policy %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
}

func TestHome(t *testing.T) {
	s := newServer(t)
	got := s.get("/board/")
	if got.StatusCode != http.StatusFound || got.Header.Get("Location") != mainMap {
		t.Errorf("status %d to %s", got.StatusCode, got.Header.Get("Location"))
	}
}

// TestStatic: files are cacheable forever under their hash, and public.
func TestStatic(t *testing.T) {
	s := newServer(t)
	page := s.get(mainJobs).body
	files := regexp.MustCompile(`/board/static/[^"]+`).FindAllString(page, -1)
	if len(files) != 3 {
		t.Fatalf("the page has %v", files)
	}
	for _, file := range files {
		got := s.send(s.request(t.Context(), http.MethodGet, file, "", nil))
		if got.StatusCode != http.StatusOK || !Open(file) ||
			got.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: status %d, %v", file, got.StatusCode, got.Header)
		}
		other := strings.Replace(file, s.board.static.hash, "other", 1)
		if strings.HasSuffix(file, ".css") {
			contains(t, got, http.StatusOK, ":root {", ".g0 {", ".map ", ".queues ", ".accounting ")
		}
		if got := s.get(other); got.StatusCode != http.StatusOK || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: status %d, %v", other, got.StatusCode, got.Header)
		}
	}
	if got := s.get("/board/static/x/../../secret"); got.StatusCode == http.StatusOK {
		t.Error("there is more than the files")
	}
	if got := s.get("/board/static/x/none.js"); got.StatusCode != http.StatusNotFound || Open(mainJobs) {
		t.Errorf("status %d", got.StatusCode)
	}
}

// TestProblems: browsers get pages with field and remedy, programs the API's answer.
func TestProblems(t *testing.T) {
	s := newServer(t)
	contains(t, s.get(mainJobs+"?limit=900"), http.StatusUnprocessableEntity, "Invalid", "query.limit",
		"from 1 to 500")
	s.api.away = problem.New(problem.NotSynced, "not read yet", "ask again").RetryAfter(5)
	got := s.get(mainJobs)
	contains(t, got, http.StatusServiceUnavailable, "not read yet", `http-equiv="refresh" content="1"`)
	if got.Header.Get("Retry-After") != "1" {
		t.Error(got.Header)
	}
	r := s.request(t.Context(), http.MethodGet, mainJobs, "ann", nil)
	r.Header.Set("Accept", "*/*")
	if got := s.send(r); got.Header.Get("Content-Type") != problem.MediaType {
		t.Errorf("a program gets %s", got.Header.Get("Content-Type"))
	}
	got = s.send(s.request(t.Context(), http.MethodPut, mainJobs, "ann", nil))
	contains(t, got, http.StatusMethodNotAllowed, "Method not allowed")
	if got.Header.Get("Allow") != "GET" {
		t.Error(got.Header)
	}
}

// TestStrangers: unknown users get no data. Usually package session redirects them to the login first.
func TestStrangers(t *testing.T) {
	s := newServer(t, newJob("a", "bert"))
	got := s.send(s.request(t.Context(), http.MethodGet, mainJobs, "", nil))
	contains(t, got, http.StatusUnauthorized, "send a token")
	if strings.Contains(got.body, "/board/clusters") {
		t.Error("it names clusters")
	}
}

func TestManifest(t *testing.T) {
	s := newServer(t, hostileJob())
	page := s.get(jobPage + "/yaml")
	contains(t, page, http.StatusOK, "name: bert", "&lt;/pre&gt;&lt;script&gt;")
	got := s.get(jobPage + "/manifest.yaml")
	contains(t, got, http.StatusOK, "kind: TrainingJob\n", "note: <img", "status:\n")
	if strings.Contains(got.body+page.body, "managedFields") {
		t.Error("it has managed fields")
	}
	if got.Header.Get("Content-Disposition") != `attachment; filename="bert.yaml"` {
		t.Error(got.Header)
	}
	contains(t, s.get("/board/clusters/main/namespaces/a/jobs/none/yaml"), http.StatusNotFound, "no job none")
}

// TestLinks: no page has a broken link.
func TestLinks(t *testing.T) {
	bert, next := newJob("a", "bert", running("trains")), newJob("a", "next", inPhase(v1alpha1.PhaseQueued))
	s := newServer(t, bert, next)
	s.api.nodes = []*placement.OnNode{onNode("node-1", bert)}
	s.api.queues = []queues.Queue{{Kind: "Queue", Name: "research"}}
	s.api.past = []history.Job{past("bert", nil), past("gpt", &now)}
	links := regexp.MustCompile(`href="(/board/clusters/main[^"]*|\?[^"]*)"`)
	followed := map[string]bool{}
	for _, path := range []string{
		mainMap, mainMap + "?view=table&node=node-1", mainJobs, mainQueues, mainAccounting + "?by=namespace,job",
		mainHistory, jobPage, jobPage + "/logs", pastPage,
	} {
		page := s.get(path)
		contains(t, page, http.StatusOK)
		for _, found := range links.FindAllStringSubmatch(page.body, -1) {
			to := html.UnescapeString(found[1])
			if strings.HasPrefix(to, "?") {
				base, _, _ := strings.Cut(path, "?")
				to = base + to
			}
			if got := s.get(to); got.StatusCode != http.StatusOK {
				t.Errorf("%s leads to %s: status %d", path, to, got.StatusCode)
			}
			followed[to] = true
		}
	}
	if len(followed) < 20 || !followed[mainHistory+"?continue=older%26"] {
		t.Errorf("only %v were followed", followed)
	}
}

// TestJobsOfOneNamespace: where all namespaces are too many for one request, one can be shown.
func TestJobsOfOneNamespace(t *testing.T) {
	s := newServer(t, newJob("a", "bert"))
	s.api.crowded = true
	contains(t, s.get(mainMap+"/jobs?namespace=a"), http.StatusOK, "bert")
	if got := s.get(mainMap + "/jobs"); got.StatusCode == http.StatusOK {
		t.Errorf("all namespaces: %s", got.body)
	}
}
