package board

import (
	"mime"
	"net/http"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/accountview"
)

// accounting is the page of a cluster's accounting, for the namespaces in which the caller may list jobs.
func (b *Board) accounting(r *http.Request) (view, error) {
	q, err := accountview.ParseQuery(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	cluster := r.PathValue("cluster")
	report, err := b.Reports.Accounting(r.Context(), q.Input(cluster))
	if err != nil {
		return view{}, err
	}
	v := &accountview.View{
		Cluster: cluster, Accounting: *report, Query: q, Namespaces: b.namespaces(r),
		Links: accountview.Links{History: recordLinks(cluster), CSV: clusterURL(cluster) + "/accounting.csv"},
	}
	return viewOf("Accounting", v)
}

// accountingCSV is the accounting as a file, with the parameters of the API.
func (b *Board) accountingCSV(w http.ResponseWriter, r *http.Request) {
	cluster := r.PathValue("cluster")
	in, err := accountview.ParseCSV(cluster, r.URL.Query())
	if err != nil {
		b.fail(w, r, err)
		return
	}
	text, err := b.Reports.AccountingCSV(r.Context(), in)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	name := "accounting-" + cluster + "-" + in.From.Format(time.DateOnly) + "-to-" +
		in.To.AddDate(0, 0, -1).Format(time.DateOnly) + ".csv"
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	_, _ = w.Write(text) // the browser can be gone
}
