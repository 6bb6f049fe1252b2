package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// HistoryInput requests past and current jobs.
type HistoryInput struct {
	ClusterPath
	Page
	Namespace string           `query:"namespace" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Only jobs of one namespace."`
	Name      string           `query:"name" maxLength:"63" doc:"Only jobs with a name: names are reused."`
	User      string           `query:"user" maxLength:"253" doc:"Only jobs of a user."`
	Queue     string           `query:"queue" maxLength:"253" doc:"Only jobs of a queue."`
	Phase     []v1alpha1.Phase `query:"phase" maxItems:"9" enum:"Pending,Queued,Starting,Running,Draining,Restarting,Suspended,Succeeded,Failed" doc:"Last known phases, separated by commas."`
	From      time.Time        `query:"from" doc:"Only jobs created at this time or later (RFC 3339)."`
	To        time.Time        `query:"to" doc:"Only jobs created before this time (RFC 3339)."`
	Deleted   string           `query:"deleted" enum:"true,false" doc:"true: only deleted jobs. false: only jobs not known to be deleted."`
}

// HistoryJobsOutput is a page of jobs, the newest first.
type HistoryJobsOutput struct {
	Link string `header:"Link" doc:"The next page, if any (rel=next)."`
	Body struct {
		Metadata PageMetadata  `json:"metadata"`
		Items    []history.Job `json:"items"`
	}
}

// HistoryPath names a job permanently.
type HistoryPath struct {
	ClusterPath
	UID string `path:"uid" maxLength:"64" pattern:"^[-0-9a-zA-Z]+$" doc:"UID of a TrainingJob."`
}

// HistoryRecord is what is known of one job.
type HistoryRecord struct {
	Job         history.Job          `json:"job"`
	Attempts    []history.Attempt    `json:"attempts,omitempty"`
	Transitions []history.Transition `json:"transitions,omitempty"`
	Preemptions []history.Preemption `json:"preemptions,omitempty"`
	Checkpoints []history.Checkpoint `json:"checkpoints,omitempty"`
}

// HistoryJobOutput is one job.
type HistoryJobOutput struct{ Body HistoryRecord }

// SamplesInput requests the reports of a job's trainer.
type SamplesInput struct {
	HistoryPath
	Attempt  int32  `query:"attempt" minimum:"0" doc:"Only those of one attempt; 0 for all."`
	Limit    int    `query:"limit" minimum:"1" maximum:"2000" default:"1000" doc:"Maximum number of samples in the response."`
	Continue string `query:"continue" maxLength:"64" pattern:"^[0-9]+-[0-9]+$" doc:"Token metadata.continue of the previous page."`
}

// SamplesOutput is a page of samples, by attempt and step.
type SamplesOutput struct {
	Body struct {
		Metadata PageMetadata     `json:"metadata"`
		Items    []history.Sample `json:"items"`
	}
}

func (s *Server) routeHistory() {
	register(s, huma.Operation{
		OperationID: "listHistoryJobs", Method: http.MethodGet, Path: inCluster + "/history/jobs", Tags: tagHistory,
		Summary: "List past and current jobs",
		Description: "The newest first, including existing ones, of all namespaces in which the " +
			"caller may list TrainingJobs.",
	}, s.historyJobs)
	register(s, huma.Operation{
		OperationID: "getHistoryJob", Method: http.MethodGet, Path: inCluster + "/history/jobs/{uid}",
		Tags: tagHistory, Summary: "Get the record of a job",
		Description: "Its attempts, transitions, preemptions and checkpoints, also of deleted jobs. " +
			"Unknown " +
			"fields are absent.",
	}, s.historyJob)
	register(s, huma.Operation{
		OperationID: "getHistorySamples", Method: http.MethodGet, Path: inCluster + "/history/jobs/{uid}/samples",
		Tags: tagHistory, Summary: "Get the reports of a job's trainer",
		Description: "Progress and metrics by attempt and step, thinned to at most 500 for each attempt.",
	}, s.historySamples)
}
func (s *Server) historyJobs(ctx context.Context, in *HistoryInput) (*HistoryJobsOutput, error) {
	if err := s.known(in.Cluster); err != nil {
		return nil, err
	}
	namespaces, err := s.historyNamespaces(ctx, in.Cluster, in.Namespace)
	if err != nil {
		return nil, err
	}
	q := store.JobsQuery{
		Cluster: in.Cluster, Namespaces: namespaces, Name: in.Name, User: in.User, Queue: in.Queue,
		Phases: in.Phase, From: in.From, To: in.To, Limit: in.Limit, Cursor: in.Continue,
	}
	if in.Deleted != "" {
		q.Deleted = new(in.Deleted == "true")
	}
	page, err := s.History.Jobs(ctx, q)
	if err != nil {
		return nil, historyError(err)
	}
	out := &HistoryJobsOutput{}
	out.Body.Items = append([]history.Job{}, page.Jobs...)
	out.Body.Metadata, out.Link = in.before(page.Next)
	return out, nil
}

// historyNamespaces returns the namespaces whose jobs the caller may list: nil for all. It returns an error
// if a requested one is not among them. Only callers who may list the jobs of all namespaces get those of
// deleted ones, also of one whose name was used again.
func (s *Server) historyNamespaces(ctx context.Context, cluster, only string) ([]history.Namespace, error) {
	all, _, err := s.namespaces(ctx, cluster, nil)
	switch {
	case err != nil:
		return nil, err
	case all && only == "":
		return nil, nil
	case all:
		return []history.Namespace{{Name: only}}, nil
	case only != "":
		if err := s.listable(ctx, cluster, only); err != nil {
			return nil, err
		}
		return s.existing(cluster, []string{only})
	}
	used, err := s.usedNamespaces(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return s.existingVisible(ctx, cluster, used)
}

// usedNamespaces returns the names of all namespaces that ever had a job, from the accounting.
func (s *Server) usedNamespaces(ctx context.Context, cluster string) ([]string, error) {
	tomorrow := s.Clock.Now().UTC().Truncate(day).Add(day)
	used, err := s.History.Accounting(ctx, store.AccountingQuery{
		Cluster: cluster, From: tomorrow.Add(-store.MaxDays * day), To: tomorrow, Now: s.Clock.Now(),
		By: []store.Dimension{store.ByNamespace},
	})
	if err != nil {
		return nil, historyError(err)
	}
	names := make([]string, 0, len(used))
	for _, u := range used {
		names = append(names, u.Namespace)
	}
	return names, nil
}

// existingVisible returns those of some namespaces that exist and whose jobs the caller may list.
func (s *Server) existingVisible(ctx context.Context, cluster string, names []string) (
	[]history.Namespace, error,
) {
	among, err := s.existing(cluster, names)
	if err != nil {
		return nil, err
	}
	names = make([]string, 0, len(among))
	for _, n := range among {
		names = append(names, n.Name)
	}
	may, err := s.visible(ctx, cluster, names)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(among, func(n history.Namespace) bool { return !may(n.Name) }), nil
}

// VisibleNamespaces returns the names of the namespaces that have or had jobs that the caller may list,
// sorted.
func (s *Server) VisibleNamespaces(ctx context.Context, cluster string) ([]string, error) {
	v, err := s.view(cluster)
	if err != nil {
		return nil, err
	}
	used, err := s.usedNamespaces(ctx, cluster)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(v.Namespaces(), used)
	slices.Sort(names)
	names = slices.Compact(names)
	all, _, err := s.namespaces(ctx, cluster, nil)
	if all || err != nil {
		return names, err
	}
	visible, err := s.existingVisible(ctx, cluster, names)
	if err != nil {
		return nil, err
	}
	names = names[:0]
	for _, n := range visible {
		names = append(names, n.Name)
	}
	return names, nil
}

// existing returns the namespaces that exist now.
func (s *Server) existing(cluster string, names []string) ([]history.Namespace, error) {
	if !s.Namespaces.Known(cluster) {
		return nil, unknownNamespaces(cluster)
	}
	all := []history.Namespace{}
	for _, name := range names {
		if n, exists := s.Namespaces.Get(cluster, name); exists {
			all = append(all, n)
		}
	}
	return all, nil
}

func unknownNamespaces(cluster string) error {
	return problem.Newf(problem.NotSynced, "the namespaces of cluster %s are not listed yet", cluster).
		WithRemedy("retry; if it persists, ask an admin to apply deploy/server/role.yaml there").
		RetryAfter(retrySync)
}

func (s *Server) historyJob(ctx context.Context, in *HistoryPath) (*HistoryJobOutput, error) {
	r, err := s.record(ctx, *in)
	if err != nil {
		return nil, err
	}
	return &HistoryJobOutput{HistoryRecord{r.Job, r.Attempts, r.Transitions, r.Preemptions, r.Checkpoints}}, nil
}

// record returns a job that the caller may get. For others it is unknown, because its UID reveals no
// namespace for which the cluster could deny access.
func (s *Server) record(ctx context.Context, at HistoryPath) (history.Record, error) {
	if err := s.known(at.Cluster); err != nil {
		return history.Record{}, err
	}
	r, err := s.History.Job(ctx, history.Key{Cluster: at.Cluster, UID: types.UID(at.UID)})
	if err != nil {
		return history.Record{}, historyError(err)
	}
	get := authorizationv1.ResourceAttributes{
		Verb: verbGet, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: "trainingjobs",
	}
	// The right in a namespace does not apply to the jobs of a former one with its name.
	if n, exists := s.Namespaces.Get(at.Cluster, r.Job.Namespace); exists && n.Holds(&r.Job) {
		get.Namespace, get.Name = r.Job.Namespace, r.Job.Name
	}
	may, err := s.may(ctx, at.Cluster, get)
	switch {
	case err != nil:
		return history.Record{}, err
	case may:
		return r, nil
	case !s.Namespaces.Known(at.Cluster):
		return history.Record{}, unknownNamespaces(at.Cluster)
	}
	return history.Record{}, historyError(store.ErrNotFound)
}
func (s *Server) historySamples(ctx context.Context, in *SamplesInput) (*SamplesOutput, error) {
	if _, err := s.record(ctx, in.HistoryPath); err != nil {
		return nil, err
	}
	q := store.SamplesQuery{Attempt: in.Attempt, Limit: in.Limit, After: positionOf(in.Continue)}
	samples, err := s.History.Samples(ctx, history.Key{Cluster: in.Cluster, UID: types.UID(in.UID)}, q)
	if err != nil {
		return nil, historyError(err)
	}
	out := &SamplesOutput{}
	out.Body.Items = append([]history.Sample{}, samples...)
	if len(samples) == in.Limit {
		last := samples[len(samples)-1]
		out.Body.Metadata.Continue = strconv.Itoa(int(last.Attempt)) + "-" + strconv.FormatInt(last.Step, 10)
	}
	return out, nil
}

// positionOf decodes a token that matches its pattern. A number that is too large is after all samples.
func positionOf(token string) *store.SamplePosition {
	if token == "" {
		return nil
	}
	attempt, step, _ := strings.Cut(token, "-")
	a, _ := strconv.ParseInt(attempt, 10, 32)
	b, _ := strconv.ParseInt(step, 10, 64)
	return &store.SamplePosition{Attempt: int32(a), Step: b}
}

// historyError converts an error of the history.
func historyError(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return problem.New(problem.NotFound, "the job is unknown", "look for it in the list of the history")
	case errors.Is(err, store.ErrBadCursor):
		return badToken()
	case errors.Is(err, store.ErrBadQuery):
		detail := strings.TrimPrefix(err.Error(), store.ErrBadQuery.Error()+": ")
		field, problemText, has := strings.Cut(detail, ": ")
		if !has {
			return problem.New(problem.Invalid, detail, "correct the parameters as described")
		}
		return problem.New(problem.Invalid, problemText, "correct it as described").About("query." + field)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return problem.New(problem.Unavailable, "the history cannot be read",
		"retry, and report it to an admin if it persists").
		RetryAfter(retrySync).CausedBy(err)
}
