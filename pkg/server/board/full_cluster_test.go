//go:build cluster

package board

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	chromium "mlplatform.example.com/trainingjob-operator/lab/browser"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

var pictures = flag.String("pictures", "", "an existing folder for pictures of full pages")

// fullScreens on which every page is looked at, in both themes.
var fullScreens = map[string]chromium.Screen{
	"wide-light":   {Width: 1280, Height: 800},
	"wide-dark":    {Width: 1280, Height: 800, Dark: true},
	"narrow-light": {Width: 400, Height: 800},
	"narrow-dark":  {Width: 400, Height: 800, Dark: true},
}

// fullPages by what their pictures are called.
var fullPages = map[string]string{
	"map":        mainMap,
	"map-gang":   mainMap + "?gang=uid-" + fullName(4) + "&node=gpu-008.rack-0.example.com",
	"map-table":  mainMap + "?view=table",
	"jobs":       fmt.Sprintf("%s?limit=%d", mainJobs, fullJobs),
	"queues":     mainQueues,
	"history":    mainMap + "/history",
	"accounting": mainAccounting + "?by=day,namespace,queue,user,gpuKind",
	"job":        fullJobURL(4),
	"waiting":    fullJobURL(45),
	"logs":       fullJobURL(4) + "/logs",
	"yaml":       fullJobURL(4) + "/yaml",
	"nothing":    mainMap + "/nothing",
}

func fullJobURL(i int) string {
	job := fullJob(i)
	return listview.JobURL("main", job.Namespace, job.Name)
}

// TestFullPages: pages of a busy cluster keep nobody out, on any screen and in both themes.
func TestFullPages(t *testing.T) {
	s := newServer(t)
	full := newFull()
	s.api.jobs, s.api.pages, s.api.logs = full.jobs, full.pages, full.logs
	known := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.board.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Identity{
			Name: fullUsers[1],
		})))
	}))
	t.Cleanup(known.Close)
	b, err := chromium.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	for name, screen := range fullScreens {
		t.Run(name, func(t *testing.T) {
			p, err := b.Visit(screen)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			v := &looker{p, t, name}
			for what, path := range fullPages {
				if err := p.Open(known.URL + path); err != nil && what != "nothing" {
					t.Fatal(err)
				}
				v.look(what)
			}
			s.api.locked(func() { s.api.refuses = everyError("nvidia.com/gpu") })
			defer s.api.locked(func() { s.api.refuses = nil })
			v.enter(known.URL)
			for what, button := range map[string]string{"form": "check", "yaml": "check-manifest"} {
				v.must(p.Do(chromedp.Evaluate[chromedp.Void](`window.before = true`)))
				v.must(p.Click(`button[value="` + button + `"]:not(.hidden)`))
				v.must(p.Until(`!window.before && document.querySelectorAll('.errors').length > 0`))
				v.look("submit-" + what)
			}
			if faults := p.Faults(); len(faults) > 3 { // a page that is not there, and the answers to the form
				t.Errorf("the browser complains: %v", faults)
			}
		})
	}
}

// looker at pages.
type looker struct {
	*chromium.Page
	t      *testing.T
	screen string
}

func (l *looker) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// look at the page that is open.
func (l *looker) look(what string) {
	l.t.Helper()
	found, err := l.Hindrances(l.t.Context())
	l.must(err)
	for _, hindrance := range found {
		l.t.Errorf("%s: %.2000s", what, hindrance)
	}
	if *pictures != "" {
		l.must(l.Picture(filepath.Join(*pictures, what+"-"+l.screen+".png")))
	}
}

// enter something into every field of the page for new jobs.
func (l *looker) enter(at string) {
	l.t.Helper()
	l.must(l.Open(at + mainMap + "/submit"))
	const manifest = "apiVersion: v1\nkind: TrainingJob\nmetadata:\n  name: bert\nspec:\n  framework: none\n"
	l.must(l.Do(
		chromedp.SetValue(chromedp.CSS("#f-namespace"), "a"), chromedp.SetValue(chromedp.CSS("#f-name"), "bert"),
		chromedp.SetValue(chromedp.CSS("#manifest"), manifest),
	))
}
