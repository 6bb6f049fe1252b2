package board

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

const mainAccounting = mainMap + "/accounting"

// TestAccounting: the page shows the API's sums for the month of the query.
func TestAccounting(t *testing.T) {
	s := newServer(t)
	s.api.gpuSeconds = 7200
	got := s.get(mainAccounting + "?month=2026-11&by=queue,job")
	contains(t, got, http.StatusOK, "research", "bert", "accounting\" aria-current=\"page\">Accounting</a>",
		`href="/board/clusters/main/accounting.csv?by=queue%2Cjob&amp;from=2026-11-01&amp;to=2026-11-26" download`)
	in := s.api.accountingAsked[0]
	if in.Cluster != "main" || !in.From.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) ||
		!slices.Equal(in.By, []store.Dimension{store.ByQueue, store.ByJob}) {
		t.Errorf("asked for %+v", in)
	}
	contains(t, s.get(mainAccounting+"?month=May"), http.StatusUnprocessableEntity, "query.month",
		"it is &#34;May&#34;", "write it as 2026-03")
	s.api.denied["ann list"] = true
	contains(t, s.get(mainAccounting), http.StatusForbidden, "ann cannot list trainingjobs")
}

func TestAccountingUpdates(t *testing.T) {
	s := newServer(t)
	s.api.gpuSeconds = 3600 * 11
	path := mainAccounting + "?namespace=a"
	b := s.open("ann", path, s.digestOf(path))
	s.api.change(func() { s.api.gpuSeconds = 3600 * 22 })
	s.soon("the change is sent", func() bool { return len(b.patches()) == 1 })
	if p := b.patches()[0]; p.All || !strings.Contains(p.Set["accounting-all"], ">22.00<") {
		t.Errorf("sent %+v", p)
	}
}

// TestCSV: the file is named after its cluster and period.
func TestCSV(t *testing.T) {
	s := newServer(t)
	asked := ".csv?by=queue,job&from=2026-10-01&to=2026-11-01&namespace=a"
	for path, want := range map[string]string{
		".csv": "accounting-main-2026-11-01-to-2026-11-25.csv",
		asked:  "accounting-main-2026-10-01-to-2026-10-31.csv",
	} {
		got := s.get(mainAccounting + path)
		contains(t, got, http.StatusOK, "queue,gpuHours\nresearch,1\n")
		if h := got.Header; h.Get("Content-Disposition") != "attachment; filename="+want ||
			h.Get("Content-Type") != "text/csv; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
	for path, want := range map[string][]string{
		".csv?from=today": {"query.from", "it is &#34;today&#34;", "write it as 2026-03-31"},
		".csv?month=1":    {"query.month", "the accounting has no such parameter", "leave it out"},
	} {
		contains(t, s.get(mainAccounting+path), http.StatusUnprocessableEntity, want...)
	}
	s.api.denied["ann list"] = true
	got := s.get(mainAccounting + ".csv")
	contains(t, got, http.StatusForbidden, "ann cannot list trainingjobs")
	if got.Header.Get("Content-Disposition") != "" {
		t.Error("a problem is saved as a file")
	}
}
