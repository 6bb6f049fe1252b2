package jobview

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/goldentest"
)

// contents of the page's containers.
func contents(all []fragment.Fragment) string {
	ranks := fragment.Contents(all, RanksContainer)
	return string(fragment.Contents(all, Container) + "<ul>\n" + ranks + "</ul>\n")
}

// rendered page of an input.
func rendered(t *testing.T, in Input) (string, []fragment.Fragment) {
	t.Helper()
	v := Of(in)
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	if in.Live != nil {
		ranks := RanksOf(ranksOf(&in))
		cells, err := ranks.Fragments()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cells...)
	}
	fragmenttest.Check(t, all)
	html := "<!doctype html><title>Job</title>" + contents(all)
	fragmenttest.Document(t, html)
	return html, all
}

// TestScenarios compares the page of each scenario with its golden file.
func TestScenarios(t *testing.T) {
	for _, name := range scenarioNames() {
		t.Run(name, func(t *testing.T) {
			_, all := rendered(t, scenarios[name]())
			goldentest.Compare(t, name, contents(all), CSS)
		})
	}
}
