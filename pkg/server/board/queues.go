package board

import (
	"net/http"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/queueview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// queues lists the queues and quotas of a cluster that the caller may list, with the jobs that they may list.
func (b *Board) queues(r *http.Request) (view, error) {
	q, err := queueview.ParseQuery(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	cluster := r.PathValue("cluster")
	out, err := b.Reports.Queues(r.Context(), &rest.QueuesInput{
		ClusterPath: rest.ClusterPath{Cluster: cluster}, Namespace: q.Namespace,
	})
	if err != nil {
		return view{}, err
	}
	v := &queueview.View{
		Cluster: cluster, List: out.Body, Query: q, Namespaces: b.namespaces(r),
		Links: queueview.Links{Job: jobLinks(cluster)},
	}
	return viewOf("Queues", v)
}
