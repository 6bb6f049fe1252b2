package accountview

import (
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/goldentest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// evil is a name that pages must escape.
const evil = `<script>alert("x")</script>'&`

// used is a row of GPU-seconds, a tenth of them lost.
func used(seconds int64, change ...func(*rest.Usage)) rest.Usage {
	u := rest.Usage{
		QueuedSeconds: 5400, RunningSeconds: seconds / 8, GPUSeconds: seconds, LostSeconds: seconds / 80,
		LostGPUSeconds: seconds / 10, Jobs: 12, Attempts: 1234, Preemptions: 3,
		GPUHours: big.NewRat(seconds, 3600).FloatString(4),
		Cost:     new(big.NewRat(seconds*275, 3600*100).FloatString(6)),
	}
	for _, do := range change {
		do(&u)
	}
	return u
}

func unpriced(kinds ...string) func(*rest.Usage) {
	return func(u *rest.Usage) { u.Cost, u.Unpriced = nil, kinds }
}

func accounting(by []store.Dimension, items ...rest.Usage) rest.Accounting {
	a := rest.Accounting{
		Cluster: "prod", From: "2026-03-01", To: "2026-04-01", By: by, Currency: "EUR", Items: items,
		Time: time.Date(2026, 3, 20, 10, 30, 0, 0, time.UTC),
	}
	var seconds int64
	for _, u := range items {
		seconds += u.GPUSeconds
	}
	a.Total = used(seconds)
	return a
}

func queue(name string) func(*rest.Usage) { return func(u *rest.Usage) { u.Queue = name } }

func byQueue() rest.Accounting {
	a := accounting([]store.Dimension{store.ByQueue},
		used(36_000_000, queue("research")), used(7_200_000, queue(evil), unpriced("MI300X", evil)),
		used(3_600_000, queue("")), used(9, queue("tiny")),
		used(0, queue("idle"), func(u *rest.Usage) { u.Cost = new("0.000000") }))
	unpriced("MI300X", evil)(&a.Total)
	a.Total.Assumed, a.Total.UnknownEnds, a.Truncated = 3, 2, true
	return a
}

func byAll() rest.Accounting {
	var items []rest.Usage
	for day := range 31 {
		items = append(items, used(int64(day*day)*10_000, func(u *rest.Usage) {
			u.Day, u.Namespace, u.User = fmt.Sprintf("2026-03-%02d", day+1), "team-a", "jane@example.com"
			u.GPUKind, u.JobUID, u.JobName = "NVIDIA-H100-80GB-HBM3", fmt.Sprintf("uid-%d", day), "llama-70b"
		}))
	}
	return accounting([]store.Dimension{
		store.ByJob, store.ByDay, store.ByNamespace, store.ByUser, store.ByGPUKind,
	}, items...)
}

// byDay has one row per day of a month.
func byDay() rest.Accounting {
	var items []rest.Usage
	for day := range 31 {
		items = append(items, used(int64(10+7*day%23)*400_000, func(u *rest.Usage) {
			u.Day = fmt.Sprintf("2026-03-%02d", day+1)
		}))
	}
	return accounting([]store.Dimension{store.ByDay}, items...)
}

func manyRows() rest.Accounting {
	var items []rest.Usage
	for i := range perPage + 5 {
		items = append(items, used(int64(1_000_000-i), queue(fmt.Sprintf("queue-%04d", i))))
	}
	return accounting([]store.Dimension{store.ByQueue}, items...)
}

func rendered(t *testing.T, v View) ([]fragment.Fragment, string) {
	t.Helper()
	v.Cluster, v.Links.CSV = "prod", "/board/clusters/prod/accounting.csv"
	v.Links.History = func(uid string) string { return "/board/clusters/prod/history/" + url.PathEscape(uid) }
	v.Namespaces = func() []string { return []string{evil, "team-b"} }
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	body, err := v.Body(all)
	if err != nil {
		t.Fatal(err)
	}
	return all, string(body)
}

func parsed(t *testing.T, query string) Query {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, err := ParseQuery(values)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestPages compares pages with golden files.
func TestPages(t *testing.T) {
	for name, of := range map[string]struct {
		a     rest.Accounting
		query string
	}{
		"queues":    {byQueue(), ""},
		"all":       {byAll(), "month=2026-03&by=job,day,namespace,user,gpuKind"},
		"days":      {byDay(), "from=2026-03-01&last=2026-03-31&by=day"},
		"one-sum":   {accounting(nil, used(3_600_000)), "by=none&namespace=team-a"},
		"yielded":   {yielded(), "by=none"},
		"nothing":   {accounting([]store.Dimension{store.ByQueue}), "month=2026-03"},
		"no-prices": {noPrices(), "by=namespace&namespace=team-a"},
		"many":      {manyRows(), ""},
		"last-page": {manyRows(), "page=2"},
		"too-far":   {manyRows(), "page=9"},
	} {
		all, body := rendered(t, View{Accounting: of.a, Query: parsed(t, of.query)})
		fragmenttest.Check(t, all)
		goldentest.Compare(t, name, body, CSS)
		for _, f := range all {
			if strings.Count(body, string(f.Element())) != 1 {
				t.Errorf("%s: fragment %s is not in the page: there is no container %s", name, f.ID, f.In)
			}
		}
		if strings.Contains(body, "<script") {
			t.Errorf("%s: a name is not text", name)
		}
	}
}

// yielded is a month in which gangs were preempted for others.
func yielded() rest.Accounting {
	a := accounting(nil, used(3_600_000))
	a.Total.RoomMade, a.Total.RoomSeconds = 1200, 54_000
	a.Total.Asked, a.Total.Saved, a.Total.PreemptedLostGPUSeconds = 1300, 1299, 20
	return a
}

func noPrices() rest.Accounting {
	a := accounting([]store.Dimension{store.ByNamespace}, used(3_600_000, unpriced("nvidia.com/gpu"),
		func(u *rest.Usage) { u.Namespace = "team-a" }))
	unpriced("nvidia.com/gpu")(&a.Total)
	a.Currency = ""
	return a
}

// TestAmounts: positive amounts are rounded, but never to zero.
func TestAmounts(t *testing.T) {
	for exact, want := range map[string]string{
		"0": "0.00", "0.000000": "0.00", "0.000001": "< 0.01", "0.009999": "< 0.01", "0.01": "0.01",
		"0.015000": "0.02", "999.999000": "1,000.00", "1234567.891": "1,234,567.89", "what?": "what?",
	} {
		if got := amountOf(exact); got.Text != want || got.Exact != exact {
			t.Errorf("%s becomes %+v, want %s", exact, got, want)
		}
	}
	for lost, want := range map[int64]string{9: "< 0.1%", 10: "0.1%", 126: "1.3%", 10_000: "100.0%"} {
		if got := shareOf(lost, 10_000); got != want {
			t.Errorf("%d lost of 10,000 are %s, want %s", lost, got, want)
		}
	}
	for seconds, want := range map[int64]string{
		0: "0.00", 1: "< 0.01", 36: "0.01", 3600: "1.00", 36e6: "10,000.00",
	} {
		if got := hoursOf(seconds).Text; got != want {
			t.Errorf("%d s are %s h, want %s", seconds, got, want)
		}
	}
}

// TestQueries: the URL of a query parses to the same query, and errors name the parameter.
func TestQueries(t *testing.T) {
	for _, query := range []string{
		"", "by=none", "by=day,queue", "month=2026-03&by=job", "from=2026-03-01&last=2026-03-31&namespace=a&page=2",
		"by=none&by=user&by=queue",
	} {
		q := parsed(t, query)
		if diff := cmp.Diff(q, parsed(t, strings.TrimPrefix(q.URL(), "?"))); diff != "" {
			t.Errorf("%s becomes %s (-want +got):\n%s", query, q.URL(), diff)
		}
	}
	for query, parameter := range map[string]string{
		"month=March": "query.month", "from=2026-02-30": "query.from", "last=x": "query.last",
		"by=week": "query.by", "page=0": "query.page", "page=x": "query.page", "x=1": "query.x",
		"month=2026-03&month=2026-04":   "query.month",
		"month=2026-03&from=2026-03-01": "query.month", "from=2026-03-02&last=2026-03-01": "query.last",
		"namespace=" + strings.Repeat("g", 254): "query.namespace", "month=0001-01": "query.month",
	} {
		values, _ := url.ParseQuery(query)
		if _, err := ParseQuery(values); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), parameter) {
			t.Errorf("%s: %+v", query, err)
		}
	}
}

// TestInput: the API's input for a query.
func TestInput(t *testing.T) {
	day := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	queues := []store.Dimension{store.ByQueue}
	for query, want := range map[string]rest.AccountingInput{
		"":                                 {By: queues},
		"by=none":                          {By: []store.Dimension{}},
		"month=2026-12":                    {By: queues, From: day("2026-12-01"), To: day("2027-01-01")},
		"from=2026-03-30&last=2026-03-31":  {By: queues, From: day("2026-03-30"), To: day("2026-04-01")},
		"last=2026-03-31":                  {By: queues, To: day("2026-04-01")},
		"namespace=team-a&by=day,job,user": {Namespace: "team-a", By: []store.Dimension{"day", "user", "job"}},
	} {
		want.Cluster = "prod"
		if diff := cmp.Diff(&want, parsed(t, query).Input("prod")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}
