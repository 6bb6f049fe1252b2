package board

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// liveOf returns the path of a page's updates and its state.
func (s *server) liveOf(path string) (live, state string) {
	s.t.Helper()
	body := s.get(path).body
	_, after, _ := strings.Cut(body, `data-live="`)
	live, _, _ = strings.Cut(after, `"`)
	live = strings.ReplaceAll(strings.ReplaceAll(live, "&amp;", "&"), "live=1&", "")
	return live, s.digestOf(path)
}

// remove the jobs from the cluster.
func (s *server) remove() { s.api.change(func() { s.api.jobs = nil }) }

// TestJobIsDeletedWhileItIsShown: the page stays, and a notice links to the record. The actions are gone.
// Another job of the name does not replace it.
func TestJobIsDeletedWhileItIsShown(t *testing.T) {
	for page, shows := range map[string]string{jobPage: "job", jobPage + "/yaml": "yaml"} {
		t.Run(shows, func(t *testing.T) {
			s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
			live, state := s.liveOf(page)
			if !strings.HasSuffix(live, "uid=uid-bert") {
				t.Fatalf("updates are of %s", live)
			}
			b := s.open("ann", live, "")
			eventually(t, "it is shown", b.shows(shows, "bert"))
			s.remove()
			s.soon("the notice is shown", b.shows("notice", "The history does not have it."))
			s.api.locked(func() {
				gone := now.Add(time.Minute)
				s.api.records = recordedBert(func(r *history.Record) { r.Job.Deleted = &gone })
			})
			s.soon("the record is offered", b.shows("notice",
				`(deleted <time datetime="2026-11-25T12:31:00Z">2026-11-25 12:31 UTC</time>). The page shows`))
			if !b.shows("notice", `<a href="/board/clusters/main/history/uid-bert">`)() {
				t.Error("it does not lead to the record")
			}
			s.api.change(func() {
				s.api.jobs = []*v1alpha1.TrainingJob{newJob("a", "bert", waits)}
				s.api.jobs[0].UID = "uid-other"
			})
			s.soon("there is another", b.shows("notice",
				`Another job has its name now: <a href="/board/clusters/main/namespaces/a/jobs/bert">`))
			for _, p := range b.patches()[1:] {
				if _, touched := p.Order[shows]; touched || p.All {
					t.Errorf("what is read is taken away: %+v", p)
				}
				for id := range p.Set {
					if id != "job-gone" && id != "job-actions" {
						t.Errorf("%s is sent", id)
					}
				}
			}
			if b.isOver() || b.shows("actions", "<button")() || !b.shows(shows, "bert")() {
				t.Error("something can be done to it, or it is not shown any more")
			}
			again := s.open("ann", live, b.digest)
			eventually(t, "it is connected again", func() bool { _, is := again.last(eventHello); return is })
			s.clock.Step(time.Minute)
			late := s.open("ann", live, state)
			eventually(t, "a reconnected browser gets the notice", late.shows("notice", "Another job has its name"))
			if n := len(again.patches()); n != 0 {
				t.Errorf("a browser that knew is sent %d patches", n)
			}
			if p := late.patches()[0]; p.All || len(p.Order) != 2 {
				t.Errorf("a browser that was away is sent %+v", p)
			}
		})
	}
}

// TestGoneJobIsGuarded: users who may no longer get jobs of the namespace see nothing of it. If the history
// is unavailable the page states that.
func TestGoneJobIsGuarded(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(500, "1.25")))
	s.api.records = recordedBert()
	live, state := s.liveOf(jobPage)
	b := s.open("ann", live, state)
	s.api.locked(func() { s.api.unread = problem.New(problem.Unavailable, "the history is away", "ask again") })
	s.remove()
	s.soon("it is not known", b.shows("notice", "The history cannot be read now: the history is away"))
	s.api.locked(func() { s.api.denied["ann get"] = true })
	s.soon("it is over", b.isOver)
	if _, html := b.shown("notice"); html != "" || !b.patches()[len(b.patches())-1].All {
		t.Errorf("it still shows %s", html)
	}
}

// TestNoJobHasRecords: the page of a job that does not exist lists the records of its name, for users who may
// list jobs.
func TestNoJobHasRecords(t *testing.T) {
	s := newHistoryServer(t)
	gpt := strings.ReplaceAll(jobPage, "bert", "gpt")
	for _, path := range []string{gpt, gpt + "/logs", gpt + "/yaml", gpt + "/delete"} {
		got := s.get(path)
		contains(t, got, http.StatusNotFound, "there is no job gpt", "Earlier jobs named a/gpt",
			`<a href="/board/clusters/main/history/uid-gpt">Created <time datetime="2026-11-25T11:30:00Z">`,
			", Succeeded, deleted <time", `href="/board/clusters/main/history?name=gpt&amp;namespace=a"`)
		lacks(t, got, "uid-bert", "data-live")
		fragmenttest.Document(t, got.body)
	}
	s.api.jobs = append(s.api.jobs, newJob("a", "bert"))
	got := s.get(jobPage + "?uid=uid-older")
	contains(t, got, http.StatusNotFound, "another one has its name now", "exists as far as known")
	contains(t, s.get(jobPage+"/yaml?uid=uid-older"), http.StatusNotFound, "another one has its name now")
	contains(t, s.get(jobPage+"?uid=uid-bert"), http.StatusOK, `id="job-header"`)
	lacks(t, s.get(strings.ReplaceAll(jobPage, "bert", "none")), "Earlier jobs named")

	program := s.request(t.Context(), http.MethodGet, gpt, "ann", nil)
	program.Header.Set("Accept", "application/json")
	if got := s.send(program); got.Header.Get("Content-Type") != problem.MediaType {
		t.Errorf("a program gets %s", got.body)
	}
	s.api.denied["ann list"] = true
	got = s.get(gpt)
	contains(t, got, http.StatusNotFound, "there is no job gpt")
	lacks(t, got, "uid-gpt")
}

// TestPastJobFollows: the page follows the history, without events of a cluster.
func TestPastJobFollows(t *testing.T) {
	s := newServer(t)
	s.api.records = recordedBert()
	b := s.open("ann", pastPage, "")
	eventually(t, "it is shown", b.shows("notice", "The job exists"))
	if s.api.follows != 0 {
		t.Error("it follows the cluster")
	}
	gone := now.Add(time.Second)
	s.api.locked(func() {
		s.api.records = recordedBert(func(r *history.Record) { r.Job.Deleted, r.Job.Message = &gone, "it is over" })
	})
	from := s.clock.Now()
	s.soon("it is shown", b.shows("notice", "The job is deleted (deleted"))
	if took := s.clock.Since(from); took > 20*time.Second {
		t.Errorf("that takes %v", took)
	}
	eventually(t, "the sections follow", b.shows("job", "it is over"))
	if b.patches()[1].All {
		t.Error("the whole page was sent")
	}
}
