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

// parameterUID is the UID of a page's job, since names are used again.
const parameterUID = "uid"

// isOf returns an error if the URL has another UID than the job that has the name now.
func isOf(query url.Values, uid string) error {
	if asked := query.Get(parameterUID); asked != "" && asked != uid {
		return problem.New(problem.NotFound, "the job is deleted, and another one has its name now",
			"look for it in the history").About("query." + parameterUID)
	}
	return nil
}

// goneJob is the notice for a job that was deleted while its page was shown.
type goneJob struct {
	Deletion
	// Record is its page in the history; empty if there is none. Unknown is why that could not be read.
	Record, Unknown string
	// Successor is the page of the job that has its name now, or empty.
	Successor string
}

// Deletion is when a job was deleted or found deleted; both are nil if unknown.
type Deletion struct{ Deleted, DeletedBefore *time.Time }

// Stamp formats a time for the attribute datetime.
func (Deletion) Stamp(t time.Time) string { return stamp(t) }

func deletionOf(job *history.Job) Deletion { return Deletion{job.Deleted, job.DeletedBefore} }

// gone returns the update of a page whose job is deleted: a notice; the rest of the page stays for its
// reader. It returns false if err has another cause.
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
	switch p := problem.Of(err); {
	case err == nil:
		g.Deletion, g.Record = deletionOf(&known.Record.Job), recordLinks(cluster)(uid)
	case p.Status != http.StatusNotFound:
		b.log(r, p)
		g.Unknown = p.Error()
	}
	notice, err := fragment.Render(templates, "job-gone", "notice", "job-gone", g)
	if err != nil {
		return view{}, false
	}
	nothing, err := fragment.Render(templates, "job-actions", "actions", "job-actions", jobActions{})
	return view{fragments: []fragment.Fragment{notice, nothing}, stays: true}, err == nil
}

// maxRecords of a name that are listed.
const maxRecords = 10

// noJob is the page of a job that does not exist.
type noJob struct {
	*problem.Problem
	Namespace, Name string
	Records         []pastRecord
	// All is the URL of the history, if it has more of them.
	All string
}

// pastRecord of a job of the name.
type pastRecord struct {
	Deletion
	Created time.Time
	Phase   v1alpha1.Phase
	Href    string
}

// failJob answers that the job does not exist, with the records of earlier jobs of its name that the caller
// may list. It passes other errors to fail.
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

// pastNotice states whether a past job is deleted.
func (b *Board) pastNotice(job *history.Job, live string) (fragment.Fragment, error) {
	return fragment.Render(templates, "past-notice", "notice", "past-notice", struct {
		Deletion
		Live string
	}{deletionOf(job), live + "?" + url.Values{parameterUID: {string(job.UID)}}.Encode()})
}
