package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// JobFilter restricts a list.
type JobFilter struct {
	LabelSelector string           `query:"labelSelector" maxLength:"4096" doc:"Label selector as in kubectl -l."`
	Phase         []v1alpha1.Phase `query:"phase" maxItems:"9" enum:"Pending,Queued,Starting,Running,Draining,Restarting,Suspended,Succeeded,Failed" doc:"Phases, separated by commas. A job has none before the operator handles it."`
	Queue         string           `query:"queue" maxLength:"253" doc:"Name of a queue."`
}

// ListAllInput requests jobs of all namespaces.
type ListAllInput struct {
	ClusterPath
	JobFilter
	Page
}

// ListInput requests jobs of a namespace.
type ListInput struct {
	NamespacePath
	JobFilter
	Page
}

// JobsOutput is a page of jobs.
type JobsOutput struct {
	Link string `header:"Link" doc:"The next page, if any (rel=next)."`
	Body JobList
}

// JobList is a page of jobs.
type JobList struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   ListMetadata `json:"metadata"`
	Items      []Job        `json:"items"`
}

// ListMetadata has the position and the time of a page of jobs.
type ListMetadata struct {
	PageMetadata
	// Position of the list in the stream of events.
	Position string `json:"position" doc:"Parameter after of /events, to receive every change since the list."`
}

func (s *Server) listAll(ctx context.Context, in *ListAllInput) (*JobsOutput, error) {
	v, err := s.visibleView(ctx, in.Cluster, "")
	if err != nil {
		return nil, err
	}
	return page(v, in.JobFilter, &in.Page)
}
func (s *Server) listNamespaced(ctx context.Context, in *ListInput) (*JobsOutput, error) {
	v, err := s.visibleView(ctx, in.Cluster, in.Namespace)
	if err != nil {
		return nil, err
	}
	return page(v, in.JobFilter, &in.Page)
}

// visibleView returns the jobs that the caller may list in one namespace, or in all if it is empty. It
// returns an error if the caller may not list those of the one namespace.
func (s *Server) visibleView(ctx context.Context, cluster, namespace string) (live.View, error) {
	v, err := s.view(cluster)
	if err != nil {
		return live.View{}, err
	}
	may := func(of string) bool { return of == namespace }
	if namespace == "" {
		may, err = s.visible(ctx, cluster, v.Namespaces())
	} else {
		err = s.listable(ctx, cluster, namespace)
	}
	if err != nil {
		return live.View{}, err
	}
	v.Jobs = slices.DeleteFunc(v.Jobs, func(job *v1alpha1.TrainingJob) bool { return !may(job.Namespace) })
	return v, nil
}

// page returns the requested page of the jobs.
func page(v live.View, filter JobFilter, p *Page) (*JobsOutput, error) {
	selector, err := labels.Parse(filter.LabelSelector)
	if err != nil {
		return nil, problem.Newf(problem.Invalid, "invalid selector: %v", err).About("query.labelSelector").
			WithRemedy("use the format of kubectl -l: team=vision,stage!=test")
	}
	after, err := decodeToken(p.Continue, filter)
	if err != nil {
		return nil, err
	}
	out := &JobsOutput{Body: JobList{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind + "List", Items: []Job{},
	}}
	next := ""
	for _, job := range v.Jobs[after.in(v.Jobs):] {
		if !filter.passes(job, selector) {
			continue
		}
		if len(out.Body.Items) == p.Limit {
			last := out.Body.Items[p.Limit-1].of
			next = token{last.Namespace, last.Name, digest(filter)}.encode()
			break
		}
		out.Body.Items = append(out.Body.Items, Job{job})
	}
	out.Body.Metadata.Position = v.Position
	out.Body.Metadata.PageMetadata, out.Link = p.before(next)
	return out, nil
}
func (f JobFilter) passes(job *v1alpha1.TrainingJob, selector labels.Selector) bool {
	return (len(f.Phase) == 0 || slices.Contains(f.Phase, job.Status.Phase)) &&
		(f.Queue == "" || f.Queue == history.QueueOf(job)) && selector.Matches(labels.Set(job.Labels))
}

// token names the job after which a page begins. Jobs that are added or deleted do not move others.
type token struct {
	Namespace string `json:"s"`
	Name      string `json:"n"`
	// Filter is a digest of the query.
	Filter string `json:"f"`
}

func digest(filter JobFilter) string {
	text, _ := json.Marshal(filter) // always encodes
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func (t token) encode() string {
	text, _ := json.Marshal(t) // as above
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeToken(text string, filter JobFilter) (token, error) {
	var t token
	if text == "" {
		return t, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &t) != nil || t.Filter != digest(filter) {
		return t, badToken()
	}
	return t, nil
}

func badToken() error {
	return problem.New(problem.Invalid, "the token belongs to another list",
		"request the first page, without the parameter continue").About("query.continue")
}

// in returns the index of the first job after the token.
func (t token) in(jobs []*v1alpha1.TrainingJob) int {
	i, found := slices.BinarySearchFunc(jobs, t, func(job *v1alpha1.TrainingJob, t token) int {
		return cmp.Or(cmp.Compare(job.Namespace, t.Namespace), cmp.Compare(job.Name, t.Name))
	})
	if found {
		i++
	}
	return i
}
