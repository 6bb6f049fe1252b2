package rest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// pods of an API server, as far as logs need it.
type pods struct {
	all   map[string]*corev1.Pod
	asked url.Values
	// log is written and flushed; then it waits until the request ends, if it follows.
	log string
	err *apierrors.StatusError
	end chan struct{}
}

func (p *pods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const path = "/api/v1/namespaces/team-a/pods/"
	name, log := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, path), "/log")
	pod, known := p.all[name]
	var body any = pod
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !known:
		err := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
		w.WriteHeader(http.StatusNotFound)
		body = err.ErrStatus
	case log && p.err != nil:
		w.WriteHeader(int(p.err.ErrStatus.Code))
		p.err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		body = p.err.ErrStatus
	case log:
		p.asked = r.URL.Query()
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, p.log)
		_ = http.NewResponseController(w).Flush()
		if p.asked.Get("follow") == "true" {
			<-r.Context().Done()
			close(p.end)
		}
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

func (s *server) withPods(t *testing.T, p *pods) {
	t.Helper()
	api := httptest.NewServer(p)
	t.Cleanup(api.Close)
	s.access.config = &rest.Config{Host: api.URL}
}

func rank(name, owner string, containers ...string) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: name, UID: types.UID("pod-" + name),
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}},
		},
	}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c})
	}
	return pod
}

// TestLogs: of the rank and the container that are asked for, by default of the trainer of rank 0.
func TestLogs(t *testing.T) {
	led := newJob("team-a", "led", func(job *v1alpha1.TrainingJob) {
		job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.RoleWorker: {Replicas: new(int32(2))}, v1alpha1.RoleMaster: {Replicas: new(int32(1))},
		}
	})
	queued := newJob("team-a", "queued", inPhase(v1alpha1.PhaseQueued))
	s := newServer(t, newJob("team-a", "bert"), led, queued, newJob("team-a", "taken"),
		newJob("team-a", "done", inPhase(v1alpha1.PhaseFailed)))
	p := &pods{log: "step 1\nstep 2\n", all: map[string]*corev1.Pod{
		"bert-worker-0":  rank("bert-worker-0", "uid-bert", "sidecar", "trainer"),
		"bert-worker-1":  rank("bert-worker-1", "uid-bert", "trainer"),
		"led-master-0":   rank("led-master-0", "uid-led", "pytorch"),
		"led-worker-1":   rank("led-worker-1", "uid-led", "own"),
		"taken-worker-0": rank("taken-worker-0", "uid-other", "x"),
	}}
	s.withPods(t, p)
	for name, c := range map[string]struct {
		path string
		want url.Values
	}{
		"the trainer of rank 0": {"bert/logs", url.Values{"container": {"trainer"}}},
		"the leader":            {"led/logs", url.Values{"container": {"pytorch"}}},
		"another rank":          {"led/logs?role=Worker&index=1", url.Values{"container": {"own"}}},
		"all that can be asked": {
			"bert/logs?container=sidecar&previous=true&tailLines=0&sinceSeconds=60&timestamps=true",
			url.Values{"container": {"sidecar"}, "previous": {"true"}, "tailLines": {"0"}, "sinceSeconds": {"60"},
				"timestamps": {"true"}},
		},
	} {
		got := s.do(request{path: teamA + "/" + c.path})
		if string(got.body) != p.log || got.StatusCode != 200 ||
			got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %v %s", name, got.StatusCode, got.Header, got.body)
		}
		if diff := cmp.Diff(c.want, p.asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, c := range map[string]struct {
		path   string
		want   problem.Type
		detail string
	}{
		"no container":      {"bert/logs?container=x", problem.Invalid, "no container x"},
		"it waits":          {"queued/logs", problem.NotFound, "Worker 0 has no pod: the job is Queued"},
		"it is over":        {"done/logs", problem.NotFound, "the job is Failed"},
		"another's pod":     {"taken/logs", problem.Conflict, "not the job's"},
		"unknown job":       {"none/logs", problem.NotFound, "none"},
		"not this rank yet": {"led/logs?role=Worker", problem.NotFound, "Worker 0"},
	} {
		got := s.do(request{path: teamA + "/" + c.path})
		if reported := got.problem(t); reported.Type != c.want.URI || !strings.Contains(reported.Detail,
			c.detail) ||
			reported.Remedy == "" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	p.err = apierrors.NewBadRequest(`container "trainer" in pod "bert-worker-0" is waiting to start`)
	if got := s.do(request{path: teamA + "/bert/logs"}); !strings.Contains(got.problem(t).Detail,
		"waiting to start") {
		t.Errorf("%s", got.body)
	}
}

// TestFollow: a log goes on while its reader may read it.
func TestFollow(t *testing.T) {
	for name, end := range map[string]func(*server, io.Closer){
		"the reader leaves": func(_ *server, body io.Closer) { _ = body.Close() },
		"the reader may no longer": func(s *server, _ io.Closer) {
			s.access.mu.Lock()
			s.access.logs = false
			s.access.mu.Unlock()
			s.clock.Step(31 * time.Second)
		},
		"the longest time is over": func(s *server, _ io.Closer) { s.clock.Step(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, newJob("team-a", "bert"))
			p := &pods{log: "step 1\n", end: make(chan struct{}), all: map[string]*corev1.Pod{
				"bert-worker-0": rank("bert-worker-0", "uid-bert", "trainer"),
			}}
			s.withPods(t, p)
			body := s.stream(teamA+"/bert/logs?follow=true", "ann")
			line, err := bufio.NewReader(body).ReadString('\n')
			if line != p.log || err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			s.clock.Step(31 * time.Second) // the reader may still
			select {
			case <-p.end:
				t.Fatal("it has ended")
			default:
			}
			end(s, body)
			select {
			case <-p.end:
			case <-time.After(time.Minute):
				t.Fatal("it goes on")
			}
		})
	}
}
