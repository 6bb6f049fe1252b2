package board

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// parameterUID says which job a page is about: names are used again.
const parameterUID = "uid"

// isOf reports an error where a request is about another job than the one of a UID, which has its name now.
func isOf(query url.Values, uid string) error {
	if asked := query.Get(parameterUID); asked != "" && asked != uid {
		return problem.New(problem.NotFound, "the job is gone, and another has its name now",
			"look at what the history has of it").About("query." + parameterUID)
	}
	return nil
}

// goneJob is what the pages of a job that was deleted while they were shown say.
type goneJob struct {
	Deletion
	// Record is the page of what the history has of it; empty where it has nothing. Unknown says why it is not
	// known whether it has something.
	Record, Unknown string
	// Successor is the page of the job that has its name now; empty where there is none.
	Successor string
}

// Deletion is when a job was deleted, or found gone; both are nil where that is unknown.
type Deletion struct{ Deleted, DeletedBefore *time.Time }

// Stamp is a time as the attribute datetime has it.
func (Deletion) Stamp(t time.Time) string { return stamp(t) }

func deletionOf(job *history.Job) Deletion { return Deletion{job.Deleted, job.DeletedBefore} }

// gone is the update of a page whose job is no more: a notice. All else stays, for whoever reads it. It
// reports whether that is what an error of the page says.
func (b *Board) gone(r *http.Request, err error) (view, bool) {
	var p *problem.Problem
	uid := r.URL.Query().Get(parameterUID)
	if uid == "" || !errors.As(err, &p) || p.Status != http.StatusNotFound {
		return view{}, false
	}
	g, cluster := goneJob{}, r.PathValue("cluster")
	if p.Field == "query."+parameterUID {
		g.Successor = jobURL(r)
	}
	known, err := b.Jobs.PastJobRecord(r.Context(), historyPath(cluster, uid))
	switch said := problem.Of(err); {
	case err == nil:
		g.Deletion, g.Record = deletionOf(&known.Record.Job), recordLinks(cluster)(uid)
	case said.Status != http.StatusNotFound:
		b.log(r, said)
		g.Unknown = said.Error()
	}
	notice, err := fragment.Render(templates, "job-gone", "notice", "job-gone", g)
	if err != nil {
		return view{}, false
	}
	nothing, err := fragment.Render(templates, "job-actions", "actions", "job-actions", jobActions{})
	return view{fragments: []fragment.Fragment{notice, nothing}, stays: true}, err == nil
}

// maxRecords of a name are offered.
const maxRecords = 10

// noJob is the page of a job that there is not.
type noJob struct {
	*problem.Problem
	Namespace, Name string
	Records         []pastRecord
	// All is the list of the history, where it has more of them.
	All string
}

// pastRecord of a job of the name.
type pastRecord struct {
	Deletion
	Created time.Time
	Phase   v1alpha1.Phase
	Href    string
}

// failJob answers that there is no such job, with what the history has of those that had its name, as far as
// the caller may list them. Other errors are answered as ever.
func (b *Board) failJob(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Of(err)
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if p.Status != http.StatusNotFound || name == "" || !wantsPage(r) {
		b.fail(w, r, err)
		return
	}
	cluster := r.PathValue("cluster")
	in := &rest.HistoryInput{ClusterPath: rest.ClusterPath{Cluster: cluster}, Namespace: namespace, Name: name}
	in.Limit = maxRecords
	past, err := b.Reports.HistoryJobs(r.Context(), in)
	if err != nil || len(past.Body.Items) == 0 {
		b.fail(w, r, p)
		return
	}
	page := noJob{Problem: p, Namespace: namespace, Name: name}
	for _, job := range past.Body.Items {
		href := recordLinks(cluster)(string(job.UID))
		page.Records = append(page.Records, pastRecord{deletionOf(&job), job.Created, job.Phase, href})
	}
	if past.Body.Metadata.Continue != "" {
		page.All = clusterURL(cluster) + "/history?" + url.Values{"namespace": {namespace}, "name": {name}}.Encode()
	}
	b.show(w, r, shown(p.Title, "no-job", page, p.Status), false)
}

// notice of a past job: whether it is gone.
func (b *Board) pastNotice(job *history.Job, live string) (fragment.Fragment, error) {
	return fragment.Render(templates, "past-notice", "notice", "past-notice", struct {
		Deletion
		Live string
	}{deletionOf(job), live + "?" + url.Values{parameterUID: {string(job.UID)}}.Encode()})
}
