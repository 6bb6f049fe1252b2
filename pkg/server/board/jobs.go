package board

import (
	"net/http"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// jobs lists a cluster's jobs that the caller may list.
func (b *Board) jobs(r *http.Request) (view, error) {
	q, err := listview.ParseQuery(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	cluster := r.PathValue("cluster")
	jobs, err := b.Jobs.VisibleJobs(r.Context(), cluster, "")
	if rest.TooManyNamespaces(err) && q.Namespace != "" {
		jobs, err = b.Jobs.VisibleJobs(r.Context(), cluster, q.Namespace)
	}
	if err != nil {
		return view{}, err
	}
	l := &listview.List{Cluster: cluster, Jobs: jobs, Query: q, UserKeys: b.UserKeys}
	l.Row = func(job *v1alpha1.TrainingJob) (fragment.Fragment, error) {
		return b.rows.of(cluster, job, func() (fragment.Fragment, error) {
			return listview.Row(cluster, job, b.UserKeys)
		})
	}
	return viewOf("Jobs", l)
}
