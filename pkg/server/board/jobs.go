package board

import (
	"net/http"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
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
	l := &listview.List{
		Cluster: cluster, Jobs: jobs, Query: q, UserKeys: b.UserKeys, Namespaces: b.namespaces(r),
	}
	l.Row = func(job *v1alpha1.TrainingJob) (fragment.Fragment, error) {
		return b.rows.of(cluster, job, func() (fragment.Fragment, error) {
			return listview.Row(cluster, job, b.UserKeys)
		})
	}
	return viewOf("Jobs", l)
}

// namespaces returns a function that lists the namespaces of the cluster in the path that the caller may see;
// nil if they are too many, or unknown. Then a filter has a field for the name.
func (b *Board) namespaces(r *http.Request) func() []string {
	return func() []string {
		all, err := b.Jobs.VisibleNamespaces(r.Context(), r.PathValue("cluster"))
		if err != nil {
			b.log(r, problem.Of(err))
			return nil
		}
		return all
	}
}
