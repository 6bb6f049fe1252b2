package board

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// jobPath of a request.
func jobPath(r *http.Request) rest.JobPath {
	return rest.JobPath{
		NamespacePath: rest.NamespacePath{
			ClusterPath: rest.ClusterPath{Cluster: r.PathValue("cluster")}, Namespace: r.PathValue("namespace"),
		},
		Name: r.PathValue("name"),
	}
}

// parameters of a request are those that a page has. Others are an error.
func parameters(r *http.Request, known ...string) (url.Values, error) {
	query := r.URL.Query()
	for name := range query {
		has := false
		for _, k := range known {
			has = has || k == name
		}
		if !has {
			return nil, problem.New(problem.Invalid, "the page does not have it", "leave it out").
				About("query." + name)
		}
	}
	return query, nil
}

// jobFrame is what does not change on the page of a job.
type jobFrame struct {
	Namespace, Name, URL string
	// Done is what was asked for just now; empty for nothing.
	Done            string
	CSRFField, CSRF string
	fragments       []fragment.Fragment
}

// Contents of a container.
func (f jobFrame) Contents(in string) template.HTML { return fragment.Contents(f.fragments, in) }

// jobHead is what a job does, and why.
type jobHead struct {
	explain.Explanation
	// Phase is as the list of jobs has it.
	PhaseClass            string
	Deleting              bool
	Queue, Priority, User string
	Gang                  string
	GPUs                  *int64
	Created               string
}

// job is the page of one.
func (b *Board) job(r *http.Request) (view, error) {
	query, err := parameters(r, "done")
	if err != nil {
		return view{}, err
	}
	f := jobFrame{
		Namespace: r.PathValue("namespace"), Name: r.PathValue("name"), URL: jobURL(r), CSRFField: CSRFField,
		CSRF: b.CSRF(r), Done: query.Get("done"),
	}
	if _, known := doneWords[f.Done]; f.Done != "" && !known {
		return view{}, problem.New(problem.Invalid, "nothing is called so", "leave it out").About("query.done")
	}
	f.Done = doneWords[f.Done]
	out, err := b.Jobs.GetJob(r.Context(), &rest.GetInput{JobPath: jobPath(r)})
	if err != nil {
		return view{}, err
	}
	job := out.Body.TrainingJob()
	head, err := fragment.Render(templates, "job-head", "head", "job-head", b.headOf(job))
	if err != nil {
		return view{}, err
	}
	actions, err := b.actions(r, job)
	if err != nil {
		return view{}, err
	}
	return view{
		title: job.Namespace + "/" + job.Name, fragments: []fragment.Fragment{head, actions},
		body: func(fragments []fragment.Fragment) (template.HTML, error) {
			f.fragments = fragments
			return execute("job", f)
		},
	}, nil
}

func (b *Board) headOf(job *v1alpha1.TrainingJob) jobHead {
	h := jobHead{
		Explanation: explain.Of(job, b.Clock.Now()), Deleting: job.DeletionTimestamp != nil,
		Queue: history.QueueOf(job), Priority: spec.PriorityClass(job), User: history.UserOf(job, b.UserKeys),
		Gang: job.Status.Gang, Created: stamp(job.CreationTimestamp.Time),
	}
	h.PhaseClass = "phase-unseen"
	if h.Phase != "" {
		h.PhaseClass = "phase-" + strings.ToLower(string(h.Phase))
		h.GPUs = &job.Status.GPUs
	}
	return h
}

// may reports whether the caller may do something to a job.
func (b *Board) may(ctx context.Context, at rest.JobPath, verb string) (bool, error) {
	return b.Jobs.May(ctx, at.Cluster, authorizationv1.ResourceAttributes{
		Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: "trainingjobs", Namespace: at.Namespace, Name: at.Name,
	})
}
