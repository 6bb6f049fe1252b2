package logview

import (
	"errors"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

func TestParseQuery(t *testing.T) {
	for query, want := range map[string]Query{
		"": {Rank: worker(0), Lines: 500},
		"role=Worker&index=3&lines=9&times=true&x=y": {Rank: worker(3), Lines: 9, Times: true},
		"all=true&previous=false":                    {All: true, Rank: worker(0), Lines: 20},
		"all=true&index=2&lines=200":                 {All: true, Rank: worker(2), Lines: 200},
		"previous=true&lines=5000":                   {Rank: worker(0), Previous: true, Lines: 5000},
	} {
		values, _ := url.ParseQuery(query)
		got, err := ParseQuery(jobOf(4), values)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", query, err, diff)
		}
		back, _ := url.Parse(got.URL("/logs"))
		if again, err := ParseQuery(jobOf(4), back.Query()); err != nil || again != got {
			t.Errorf("%s leads back to %+v, %v", back, again, err)
		}
	}
	for query, field := range map[string]string{
		"role=Chief": "role", "index=4": "index", "index=-1": "index", "index=x": "index",
		"index=99999999999999999999": "index", "lines=0": "lines", "lines=5001": "lines",
		"all=true&lines=201": "lines", "lines=x": "lines", "all=yes": "all", "times=1": "times",
		"previous=": "", "role=Worker&role=Worker": "role",
	} {
		values, _ := url.ParseQuery(query)
		_, err := ParseQuery(jobOf(4), values)
		var p *problem.Problem
		switch {
		case field == "" && err != nil:
			t.Errorf("%s: %v", query, err)
		case field != "" && (!errors.As(err, &p) || p.Field != "query."+field || p.Remedy == ""):
			t.Errorf("%s: %v, want one about %s with a remedy", query, err, field)
		}
	}
}
