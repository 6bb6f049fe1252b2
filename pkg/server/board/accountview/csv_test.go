package accountview

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

func parseCSV(t *testing.T, query string) (in struct {
	From, To  time.Time
	By        []store.Dimension
	Namespace string
}, err error) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := ParseCSV("main", values)
	if err != nil {
		return in, err
	}
	if asked.Cluster != "main" {
		t.Errorf("asks cluster %s", asked.Cluster)
	}
	in.From, in.To, in.By, in.Namespace = asked.From, asked.To, asked.By, asked.Namespace
	return in, nil
}

func TestCSV(t *testing.T) {
	in, err := parseCSV(t, "from=2026-03-01&to=2026-04-01&by=queue,user&namespace=a")
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if err != nil || !in.From.Equal(march) || !in.To.Equal(march.AddDate(0, 1, 0)) || in.Namespace != "a" ||
		!slices.Equal(in.By, []store.Dimension{store.ByQueue, store.ByUser}) {
		t.Errorf("got %+v, %v", in, err)
	}
	if in, err := parseCSV(t, "from=&by="); err != nil || !in.From.IsZero() || len(in.By) != 0 {
		t.Errorf("got %+v, %v", in, err)
	}
}

func TestBadCSV(t *testing.T) {
	for query, want := range map[string][2]string{
		"from=yesterday":                         {"query.from", "2026-03-31"},
		"to=2026-02-30":                          {"query.to", "2026-03-31"},
		"to=2026-03-01&to=2026-03-02":            {"query.to", "give it once"},
		"last=2026-03-01":                        {"query.last", "leave it out"},
		"namespace=" + strings.Repeat("a", 1000): {"query.namespace", "shorter"},
	} {
		_, err := parseCSV(t, query)
		if err == nil {
			t.Errorf("%s is accepted", query)
			continue
		}
		if p := problem.Of(err); p.Field != want[0] || !strings.Contains(p.Remedy, want[1]) {
			t.Errorf("%s: got %+v", query, p)
		}
	}
}
