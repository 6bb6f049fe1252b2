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

var busyPictures = flag.String("busy-pictures", "", "an existing folder for pictures of a busy cluster")

// busyScreens for every page, in both themes.
var busyScreens = map[string]chromium.Screen{
	"wide-light":   {Width: 1280, Height: 800},
	"wide-dark":    {Width: 1280, Height: 800, Dark: true},
	"narrow-light": {Width: 400, Height: 800},
	"narrow-dark":  {Width: 400, Height: 800, Dark: true},
}

// busyPages by the names of their pictures.
var busyPages = map[string]string{
	"map":        mainMap,
	"map-gang":   mainMap + "?gang=uid-" + busyName(4) + "&node=gpu-008.rack-0.example.com",
	"map-table":  mainMap + "?view=table",
	"jobs":       fmt.Sprintf("%s?limit=%d", mainJobs, busyJobs),
	"queues":     mainQueues,
	"history":    mainMap + "/history",
	"accounting": mainAccounting + "?by=day,namespace,queue,user,gpuKind",
	"job":        busyJobURL(4),
	"waiting":    busyJobURL(45),
	"logs":       busyJobURL(4) + "/logs",
	"yaml":       busyJobURL(4) + "/yaml",
	"nothing":    mainMap + "/nothing",
}

func busyJobURL(i int) string {
	job := busyJob(i)
	return listview.JobURL("main", job.Namespace, job.Name)
}

// TestBusyPages: pages of a busy cluster are accessible, on any screen and in both themes.
func TestBusyPages(t *testing.T) {
	s := newServer(t)
	busy := newBusy()
	s.api.jobs, s.api.pages, s.api.logs = busy.jobs, busy.pages, busy.logs
	known := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.board.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Identity{
			Name: busyUsers[1],
		})))
	}))
	t.Cleanup(known.Close)
	b, err := chromium.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	for name, screen := range busyScreens {
		t.Run(name, func(t *testing.T) {
			p, err := b.Visit(screen)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			v := &looker{p, t, name}
			for what, path := range busyPages {
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
			if faults := p.Faults(); len(faults) > 3 { // a missing page, and the answers to the form
				t.Errorf("the browser reports: %v", faults)
			}
		})
	}
}

// looker opens and checks pages.
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

// look checks the open page.
func (l *looker) look(what string) {
	l.t.Helper()
	found, err := l.Hindrances(l.t.Context())
	l.must(err)
	for _, hindrance := range found {
		l.t.Errorf("%s: %.2000s", what, hindrance)
	}
	if *busyPictures != "" {
		l.must(l.Picture(filepath.Join(*busyPictures, what+"-"+l.screen+".png")))
	}
}

// enter fills every field of the page for new jobs.
func (l *looker) enter(at string) {
	l.t.Helper()
	l.must(l.Open(at + mainMap + "/submit"))
	const manifest = "apiVersion: v1\nkind: TrainingJob\nmetadata:\n  name: bert\nspec:\n  framework: none\n"
	l.must(l.Do(
		chromedp.SetValue(chromedp.CSS("#f-namespace"), "a"), chromedp.SetValue(chromedp.CSS("#f-name"), "bert"),
		chromedp.SetValue(chromedp.CSS("#manifest"), manifest),
	))
}
