package listview

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

func TestParseQuery(t *testing.T) {
	standby := Query{Sort: "age", Limit: 100, Page: 1}
	edited := func(edit func(*Query)) Query {
		q := standby
		edit(&q)
		return q
	}
	for query, want := range map[string]Query{
		"":       standby,
		"phase=": edited(func(q *Query) { q.Phases = []v1alpha1.Phase{} }),
		"namespace=&queue=&user=&q=&sort=&limit=&page=": standby, // an empty form
		"q=+bert+&namespace=team-a&queue=research&user=ann": edited(func(q *Query) {
			q.Text, q.Namespace, q.Queue, q.User = "bert", "team-a", "research", "ann"
		}),
		"phase=Failed&phase=Unseen,Failed": edited(func(q *Query) {
			q.Phases = []v1alpha1.Phase{Unseen, v1alpha1.PhaseFailed}
		}),
		"sort=-gpus&limit=500&page=3": edited(func(q *Query) {
			q.Sort, q.Descending, q.Limit, q.Page = "gpus", true, 500, 3
		}),
	} {
		values, _ := url.ParseQuery(query)
		got, err := ParseQuery(values)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", query, err, diff)
		}
		again, err := ParseQuery(got.Values())
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%q: its own link %s leads elsewhere: %v %s", query, got.URL(), err, diff)
		}
	}
	for query, field := range map[string]string{
		"phase=Dancing": "query.phase", "sort=color": "query.sort", "limit=501": "query.limit",
		"limit=0": "query.limit", "page=x": "query.page", "colour=red": "query.colour",
		"queue=a&queue=b": "query.queue", "q=" + strings.Repeat("a", 254): "query.q",
	} {
		values, _ := url.ParseQuery(query)
		_, err := ParseQuery(values)
		p := problem.Of(err)
		if p == nil || p.Status != http.StatusUnprocessableEntity || p.Field != field || p.Remedy == "" {
			t.Errorf("%.20q: got %v, want a problem of %s", query, err, field)
		}
	}
}
