//go:build cluster

package board

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
)

func start(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Start(context.Background()) // the context of the test would end first
	must(t, err)
	t.Cleanup(b.Stop)
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// limits of an update in which 10 of 1,000 jobs change, by page: about twice what was measured.
var limits = map[string]struct{ bytes, touched int64 }{
	"100 of 1,000 jobs":             {2_000, 70},
	"500 of 1,000 jobs by progress": {8_000, 220},
	"map of 10,000 ranks":           {18_000, 150},
	"map as a table":                {16_000, 140},
	"a job of 1,000 ranks":          {40_000, 700},
	"5 queues of 1,000 jobs":        {12_000, 80},
}

// TestUpdatesAreSmall: an update has only what changed, and none is lost: a visit fails if the page differs
// from a newly loaded one.
func TestUpdatesAreSmall(t *testing.T) {
	b := start(t)
	for _, page := range Pages() {
		t.Run(page.Name, func(t *testing.T) {
			v := Visit{Page: page, Load: Load{Jobs: 10}, How: Live, Updates: 3}
			r, err := v.run(t.Context(), b, FullSize)
			must(t, err)
			bytes, touched, limit := r.Bytes/3, r.Touched/3, limits[page.Name]
			t.Logf("%d of %d bytes, %d of %d elements", bytes, r.Size, touched, r.Shown)
			if bytes == 0 || bytes > limit.bytes || touched == 0 || touched > limit.touched {
				t.Errorf("an update has %d bytes and touches %d elements, want at most %+v", bytes, touched, limit)
			}
		})
	}
}

// TestUpdatesDoNotGrowWithThePage: an update of a list is as large with 500 shown jobs as with 20, if both
// pages show the changed job.
func TestUpdatesDoNotGrowWithThePage(t *testing.T) {
	b := start(t)
	visit := func(path string) Result {
		page := Page{Name: path, path: path, Every: time.Second}
		v := Visit{Page: page, Load: Load{Storm: true}, How: Live, Updates: 4}
		r, err := v.run(t.Context(), b, FullSize)
		must(t, err)
		return r
	}
	few, many := visit("/jobs?sort=-gpus&limit=20"), visit("/jobs?sort=-gpus&limit=500")
	if many.Shown < 10*few.Shown {
		t.Fatalf("the pages have %d and %d elements", few.Shown, many.Shown)
	}
	if many.Bytes > few.Bytes*3/2 || many.Touched > few.Touched*3/2 {
		t.Errorf("%d bytes and %d elements on a short page, %d and %d on a long one", few.Bytes, few.Touched,
			many.Bytes, many.Touched)
	}
}

// TestElementsStay: an update keeps the unchanged elements of a changed row, so that focus and selection
// stay.
func TestElementsStay(t *testing.T) {
	s, err := newSite(FullSize)
	must(t, err)
	t.Cleanup(s.end)
	v := Visit{Page: Page{Name: "list", path: "/jobs?sort=-gpus", Every: time.Second}, How: Live, Updates: 4}
	v.Load.Storm = true
	p, err := v.open(start(t), s)
	must(t, err)
	t.Cleanup(p.Close)
	must(t, do(p, `probe.begin()`))
	must(t, do(p, `(() => {
		window.row = document.querySelector('#jobs > tr');
		window.link = row.querySelector('a');
		link.focus();
		getSelection().selectAllChildren(link);
		window.phases = [];
		document.addEventListener('board:patched',
			() => phases.push(row.querySelector('.phase').textContent));
	})()`))
	must(t, v.follow(t.Context(), p, s))
	stays, err := browser.Value[bool](p, `document.querySelector('#jobs > tr') === row &&
		row.contains(link) && document.activeElement === link && getSelection().toString() === link.textContent`)
	must(t, err)
	phases, err := browser.Value[[]string](p, `phases`)
	must(t, err)
	if want := []string{"Draining", "Queued", "Starting", "Running"}; !stays || !slices.Equal(phases, want) {
		t.Errorf("stays %v, over phases %v", stays, phases)
	}
}

// TestReplacedNodesAreCollected: a page that is open for days does not grow. How many of the last replaced
// nodes a browser keeps varies.
func TestReplacedNodesAreCollected(t *testing.T) {
	b := start(t)
	for _, page := range Pages() {
		if page.Every > time.Second || page.Name == "map as a table" {
			continue // the first seldom changes, and the table has the data of the map
		}
		t.Run(page.Name, func(t *testing.T) {
			s, err := newSite(FullSize)
			must(t, err)
			t.Cleanup(s.end)
			v := Visit{Page: page, Load: Load{Jobs: 300}, How: Live}
			p, err := v.open(b, s)
			must(t, err)
			t.Cleanup(p.Close)
			after := func(updates int) (touched, nodes int64) {
				must(t, do(p, `probe.begin()`))
				v.Updates = updates
				must(t, v.follow(t.Context(), p, s))
				counted, err := browser.Value[counts](p, `probe.end()`)
				must(t, err)
				m, err := p.Memory()
				must(t, err)
				return int64(counted.Touched), m.Nodes
			}
			_, before := after(3)
			touched, nodes := after(9)
			t.Logf("%d nodes, and %d after %d were touched", before, nodes, touched)
			if nodes-before > touched { // a replaced element that is kept holds several nodes
				t.Errorf("%d nodes have become %d, while %d were touched", before, nodes, touched)
			}
		})
	}
}

// TestHiddenPage: a page that is hidden for a minute costs nothing, and is up to date when it is shown again.
func TestHiddenPage(t *testing.T) {
	s, err := newSite(FullSize)
	must(t, err)
	t.Cleanup(s.end)
	v := Visit{Page: Pages()[0], Load: Loads()[1], How: Live}
	p, err := v.open(start(t), s)
	must(t, err)
	t.Cleanup(p.Close)
	must(t, p.Hide(true))
	must(t, p.Until(`document.hidden`))
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Minute, true,
		func(context.Context) (bool, error) { return s.api.following() == 0, nil })
	must(t, err)
	must(t, do(p, `probe.begin()`))
	sent := s.sent.Load()
	for range 3 {
		s.api.change(v.Load)
	}
	must(t, do(p, `probe.pause()`))
	if n := s.sent.Load() - sent; n > 0 {
		t.Errorf("%d bytes were sent to a hidden page", n)
	}
	counted, err := browser.Value[counts](p, `probe.end()`)
	must(t, err)
	if counted.Touched > 0 {
		t.Errorf("%d elements of it were touched", counted.Touched)
	}
	must(t, p.Hide(false))
	must(t, p.Until(`source && source.readyState === EventSource.OPEN`))
	must(t, v.check(p))
}

// following is the number of open pages.
func (a *api) following() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.followers)
}
