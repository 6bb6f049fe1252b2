//go:build cluster

package board

import (
	"os"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
)

func TestPic(t *testing.T) {
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	s, _ := newSite(FullSize)
	defer s.end()
	for range 3 {
		s.api.change(Loads()[1])
	}
	for name, sc := range map[string]browser.Screen{"wide-light": {Width: 1280, Height: 800}, "narrow-dark": {Width: 400, Height: 800, Dark: true}} {
		if only := os.Getenv("SCREEN"); only != "" && !strings.Contains(name, only) {
			continue
		}
		for _, pg := range append(Pages(), Page{Name: "100 progress", path: "/jobs?sort=-progress&phase=Running"}) {
			if only := os.Getenv("ONLY"); only != "" && !strings.Contains(pg.Name, only) {
				continue
			}
			p, err := b.Visit(sc)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Open(Visit{Page: pg}.url(s)); err != nil {
				t.Fatal(err)
			}
			found, err := p.Violations(t.Context())
			for _, v := range found {
				if v.Serious() {
					t.Errorf("%s %s: %.600s", pg.Name, name, v)
				}
			}
			if err != nil {
				t.Error(err)
			}
			file := "/tmp/boardbench/pics/" + strings.ReplaceAll(pg.Name, " ", "-") + "-" + name + ".png"
			if err := p.Picture(file); err != nil {
				t.Error(err)
			}
			p.Close()
		}
	}
}
