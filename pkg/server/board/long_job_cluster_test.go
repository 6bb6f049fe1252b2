//go:build cluster

package board

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	chromium "mlplatform.example.com/trainingjob-operator/lab/browser"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// longServer has a job with much to show, and a deleted one. Browsers are ann.
func longServer(t *testing.T) (s *server, url string) {
	t.Helper()
	p := newLongJob()
	s = newServer(t, p.job)
	gone := p.record
	deleted := now
	gone.Job.UID, gone.Job.Name, gone.Job.Deleted = "uid-gone", "gone", &deleted
	s.api.records = map[types.UID]history.Record{p.job.UID: p.record, gone.Job.UID: gone}
	s.api.past = []history.Job{gone.Job}
	s.api.samples, s.api.nodes = p.samples, p.onNodes()
	s.api.logs = map[string]*pod{}
	for i := range 62 {
		written := newPod()
		written.uid = types.UID(fmt.Sprint("pod-", i))
		for n := range 20 {
			written.write(fmt.Sprintf("step %d: loss 2.%04d, %d tokens/s, grad norm 1.2%d", n*10, i*n, 41000+i, n))
		}
		s.api.logs[fmt.Sprintf("Worker %d", i)] = written
	}
	asAnn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("User", "ann")
		s.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(asAnn.Close)
	return s, asAnn.URL
}

// open a page for a visitor.
func open(t *testing.T, b *chromium.Browser, url, screen string) *looker {
	t.Helper()
	p, err := b.Visit(busyScreens[screen])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	v := &looker{p, t, screen}
	v.must(v.Open(url))
	return v
}

func (l *looker) value(expression string) string {
	l.t.Helper()
	got, err := chromium.Value[string](l.Page, expression)
	l.must(err)
	return got
}

func startBrowser(t *testing.T) *chromium.Browser {
	t.Helper()
	b, err := chromium.Start(context.Background()) // the test's own context ends before its pages do
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// TestLongJobPages: pages of a job with 24 attempts, 12 preemptions, 200 ranks and thousands of samples, in
// both themes, wide and narrow.
func TestLongJobPages(t *testing.T) {
	_, url := longServer(t)
	b := startBrowser(t)
	all := slices.Sorted(maps.Keys(busyScreens))
	for name, page := range map[string]struct {
		path string
		on   []string
	}{
		"job": {jobPage, all}, "logs-of-all": {jobPage + "/logs?all=true", all},
		"job-by-time":       {jobPage + "?x=time", []string{"wide-light"}},
		"record":            {mainHistory + "/uid-gone", []string{"wide-light", "narrow-dark"}},
		"logs-of-one":       {jobPage + "/logs?times=true", []string{"narrow-light"}},
		"logs-without-pods": {jobPage + "/logs?all=true&index=64", []string{"narrow-dark"}},
		"yaml":              {jobPage + "/yaml", []string{"narrow-dark"}},
	} {
		for _, on := range page.on {
			v := open(t, b, url+page.path, on)
			v.look("long-" + name)
			if faults := v.Faults(); len(faults) > 0 {
				t.Errorf("%s: the browser reports: %v", name, faults)
			}
			v.Close()
		}
	}
}

// TestBrowserFollows: pages that are loaded once follow a rank that dies, the logs of all ranks, the deletion
// of the job and a new job of its name.
func TestBrowserFollows(t *testing.T) {
	s, url := longServer(t)
	b := startBrowser(t)
	v := open(t, b, url+jobPage, "wide-light")
	logs := open(t, b, url+jobPage+"/logs?all=true&lines=3", "narrow-dark")
	shows := func(v *looker, expression string) func() bool {
		return func() bool {
			is, err := chromium.Value[bool](v.Page, "Boolean("+expression+")")
			return err == nil && is
		}
	}
	v.value(`document.querySelector('#rank-worker-8 a').focus(), String(window.loaded = 'once')`)
	s.api.place("a/bert", func() { s.api.nodes = s.api.nodes[1:] })
	s.soon("the cell says so", shows(v, `document.querySelector('#rank-worker-0 a').title.includes('ended')`))
	if focused := v.value(`document.activeElement.closest('li').id`); focused != "rank-worker-8" {
		t.Errorf("the focus is on %q", focused)
	}

	s.soon("the logs are opened", shows(logs,
		`document.querySelector('#log-state').textContent === 'following 62 of 64 ranks'`))
	s.api.logs["Worker 5"].write("the last line")
	s.soon("the line is shown", shows(logs,
		`document.querySelector('#log').lastElementChild.textContent === 'Worker 5 the last line\n'`))
	states := logs.value(`document.querySelector('#log-ranks').textContent`)
	if strings.Count(states, "no pod") != 2 {
		t.Errorf("states of ranks without a log: %q", states)
	}
	logs.look("logs-of-all-followed")

	s.remove()
	s.soon("the notice", shows(v, `document.querySelector('#notice a')?.href.endsWith('/history/uid-bert')`))
	s.api.change(func() {
		other := newJob("a", "bert", waits)
		other.UID = "uid-other"
		s.api.jobs = []*v1alpha1.TrainingJob{other}
	})
	s.soon("there is another", shows(v,
		`document.querySelector('#notice').textContent.includes('Another job')`))
	if kept := v.value(`[window.loaded, document.querySelectorAll('#ranks a').length,
		document.querySelectorAll('#actions button').length, document.querySelector('#job h1').textContent.trim()
		].join(' ')`); kept != "once 200 0 bert Running" {
		t.Errorf("of the page is left: %s", kept)
	}
	v.look("job-is-gone")
	for _, p := range s.api.logs {
		p.end()
	}
	s.soon("the end of the logs is shown", shows(logs,
		`document.querySelector('#log-state').textContent.startsWith('The job has ended')`))
}
