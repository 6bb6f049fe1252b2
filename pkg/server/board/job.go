package board

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/jobview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/listview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// Records are read with the rights of the context's caller, as by *rest.Server.
type Records interface {
	JobRecord(ctx context.Context, in *rest.JobPath) (*rest.JobRecord, error)
	PastJobRecord(ctx context.Context, in *rest.HistoryPath) (*rest.JobRecord, error)
	JobSamples(ctx context.Context, in *rest.HistoryPath) (*rest.JobSamples, error)
	JobLogs(ctx context.Context, in *rest.JobPath) (*rest.JobLogs, error)
}

// jobPath of a request.
func jobPath(r *http.Request) rest.JobPath {
	return rest.JobPath{
		NamespacePath: rest.NamespacePath{
			ClusterPath: rest.ClusterPath{Cluster: r.PathValue("cluster")}, Namespace: r.PathValue("namespace"),
		},
		Name: r.PathValue("name"),
	}
}

// queryOf returns the parameters of a request. Unknown ones are an error.
func queryOf(r *http.Request, known ...string) (url.Values, error) {
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return nil, parameters.Unknown(name)
		}
	}
	return query, nil
}

// parameterAxis is the x-axis of curves.
const parameterAxis = "x"

func axisOf(query url.Values) (jobview.Axis, error) {
	switch by := jobview.Axis(query.Get(parameterAxis)); by {
	case "":
		return jobview.ByStep, nil
	case jobview.ByStep, jobview.ByTime:
		return by, nil
	default:
		return "", parameters.Invalid(parameterAxis, fmt.Sprintf("curves cannot be drawn by %q", by),
			"use step or time")
	}
}

// jobFrame is the static part of a job's page.
type jobFrame struct {
	Namespace, Name, URL string
	// Done is the action that was just requested, or empty.
	Done            string
	CSRFField, CSRF string
	fragment.Frame
}

// job is the page of one job.
func (b *Board) job(r *http.Request) (view, error) {
	query, err := queryOf(r, "done", parameterAxis, parameterUID)
	if err != nil {
		return view{}, err
	}
	by, err := axisOf(query)
	if err != nil {
		return view{}, err
	}
	f := jobFrame{URL: jobURL(r), CSRFField: CSRFField, CSRF: b.CSRF(r), Done: query.Get("done")}
	if _, known := doneWords[f.Done]; f.Done != "" && !known {
		return view{}, parameters.Invalid("done", "there is no such action", "leave it out")
	}
	f.Done = doneWords[f.Done]
	at := jobPath(r)
	known, err := b.Jobs.JobRecord(r.Context(), &at)
	if err != nil {
		return view{}, err
	}
	if err := isOf(query, string(known.Live.UID)); err != nil {
		return view{}, err
	}
	actions, err := b.actions(r, known.Live)
	if err != nil {
		return view{}, err
	}
	sections, err := b.sections(r, known, by, f.URL)
	if err != nil {
		return view{}, err
	}
	ranks, err := b.ranks(r, known.Live, f.URL+"/logs")
	if err != nil {
		return view{}, err
	}
	return view{
		title: at.Namespace + "/" + at.Name, uid: known.Live.UID,
		fragments: slices.Concat([]fragment.Fragment{actions}, sections, ranks),
		body: func(fragments []fragment.Fragment) (template.HTML, error) {
			f.Frame = fragments
			return execute("job", f)
		},
	}, nil
}

// pastJob is the page of a job from its record.
func (b *Board) pastJob(r *http.Request) (view, error) {
	query, err := queryOf(r, parameterAxis)
	if err != nil {
		return view{}, err
	}
	by, err := axisOf(query)
	if err != nil {
		return view{}, err
	}
	known, err := b.Jobs.PastJobRecord(r.Context(), historyPath(r.PathValue("cluster"), r.PathValue("uid")))
	if err != nil {
		return view{}, err
	}
	job := &known.Record.Job
	notice, err := b.pastNotice(job, listview.JobURL(job.Cluster, job.Namespace, job.Name))
	if err != nil {
		return view{}, err
	}
	sections, err := b.sections(r, known, by, r.URL.EscapedPath())
	if err != nil {
		return view{}, err
	}
	return view{
		title: job.Namespace + "/" + job.Name, fragments: slices.Concat([]fragment.Fragment{notice}, sections),
		body: func(fragments []fragment.Fragment) (template.HTML, error) {
			return execute("past-job", jobFrame{Frame: fragments})
		},
	}, nil
}

func historyPath(cluster, uid string) *rest.HistoryPath {
	return &rest.HistoryPath{ClusterPath: rest.ClusterPath{Cluster: cluster}, UID: uid}
}

// sections of a job's page, shared by all who may see the job. They do not depend on the caller.
func (b *Board) sections(
	r *http.Request, known *rest.JobRecord, by jobview.Axis, page string,
) ([]fragment.Fragment, error) {
	in := b.inputOf(known, by, page)
	version, err := versionOf(&in)
	if err != nil {
		return nil, err
	}
	key := drawnKey{known.Record.Job.Cluster, known.Record.Job.UID, drawnStatus, by}
	if known.Live == nil {
		key.from = drawnRecord
	}
	return b.drawn.of(key, version, func() ([]fragment.Fragment, bool, error) {
		whole, err := b.addSamples(r, known, &in)
		if err != nil {
			return nil, false, err
		}
		v := jobview.Of(in)
		fragments, err := v.Fragments()
		return fragments, whole, err
	})
}

// inputOf the page of a job, without the samples of the history.
func (b *Board) inputOf(known *rest.JobRecord, by jobview.Axis, page string) jobview.Input {
	job := &known.Record.Job
	in := jobview.Input{
		Record: known.Record, Live: known.Live, Samples: known.Record.Samples, Explanation: known.Explanation,
		Timeline: known.Timeline.Items, Prices: known.Prices, Currency: known.Currency,
		Now: drawnAt(job, b.Clock.Now().UTC()), By: by,
		Links: jobview.Links{
			Page: page, Jobs: clusterURL(job.Cluster) + "/jobs?namespace=" + job.Namespace,
			Job: listview.JobURL(job.Cluster, job.Namespace, ""),
		},
	}
	if job.Queue != "" {
		in.Links.Queue = clusterURL(job.Cluster) + "/queues?" + url.Values{"q": {job.Queue}}.Encode()
	}
	if known.Live != nil {
		in.Links.Logs, in.Links.YAML = page+"/logs", page+"/yaml"
	}
	switch {
	case known.Unread != nil:
		in.Notes = append(in.Notes, "The history cannot be read now: the page shows only the job's status. "+
			"Earlier attempts, their samples and their cost may be missing.")
	case !known.Recorded:
		in.Notes = append(in.Notes, "The history does not have the job yet: the page shows only its status.")
	}
	return in
}

// addSamples adds the samples of the history to those of the record. If they cannot be read, the page has a
// note and is incomplete.
func (b *Board) addSamples(
	r *http.Request, known *rest.JobRecord, in *jobview.Input,
) (whole bool, err error) {
	if !known.Recorded {
		return true, nil
	}
	key := known.Record.Job.Key
	ctx := r.Context()
	reported, err := b.Jobs.JobSamples(ctx, historyPath(key.Cluster, string(key.UID)))
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		p := problem.Of(err)
		b.log(r, p)
		in.Notes = append(in.Notes, "Earlier reports of the trainer cannot be read now: "+p.Error()+".")
		return false, nil
	}
	if reported.Since > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("The curves begin with attempt %d: those before have too many "+
			"samples.", reported.Since))
	}
	in.Samples = history.Merge(known.Record, history.Record{
		Job: history.Job{Key: key}, Samples: reported.Items,
	}).Samples
	return true, nil
}

// may reports whether the caller may use a verb on a job.
func (b *Board) may(ctx context.Context, at rest.JobPath, verb string) (bool, error) {
	return b.Jobs.May(ctx, at.Cluster, authorizationv1.ResourceAttributes{
		Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: "trainingjobs", Namespace: at.Namespace, Name: at.Name,
	})
}
