package board

import (
	"net/http"
	"net/url"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/historyview"
)

// history lists past and present jobs of the namespaces in which the caller may list jobs.
func (b *Board) history(r *http.Request) (view, error) {
	q, err := historyview.ParseQuery(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	cluster := r.PathValue("cluster")
	out, err := b.Reports.HistoryJobs(r.Context(), q.Input(cluster))
	if err != nil {
		return view{}, err
	}
	v := &historyview.View{
		Cluster: cluster, Jobs: out.Body.Items, Next: out.Body.Metadata.Continue, Query: q,
		Namespaces: b.namespaces(r),
		Links:      historyview.Links{Job: jobLinks(cluster), Record: recordLinks(cluster)},
	}
	return viewOf("History", v)
}

// recordLinks returns the paths of the records of a cluster's jobs.
func recordLinks(cluster string) func(uid string) string {
	return func(uid string) string {
		return clusterURL(cluster) + "/history/" + url.PathEscape(uid)
	}
}
