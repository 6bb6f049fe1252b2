package board

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// api is a fake of the API: its jobs, the rights of users, and the requests.
type api struct {
	mu   sync.Mutex
	jobs []*v1alpha1.TrainingJob
	// crowded: only the jobs of one namespace can be listed.
	crowded bool
	// denied are the verbs that a user may not use: "bob get".
	denied map[string]bool
	away   error
	// refuses is the answer to changes; asked are the requested ones.
	refuses  error
	warnings []string
	asked    []string
	created  []*rest.CreateInput
	// followers wait for changes.
	followers map[chan live.Event]bool
	follows   int
	lists     int
	keptRecords
	pages
}

func (a *api) locked(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// check the rights of the caller, who holds the lock.
func (a *api) check(ctx context.Context, verb string) error {
	id, known := identity.FromContext(ctx)
	switch {
	case !known:
		return problem.New(problem.Unauthenticated, "the request has no credentials", "send a token")
	case a.away != nil:
		return a.away
	case a.denied[id.Name+" "+verb]:
		return problem.Newf(problem.Forbidden, "%s cannot %s trainingjobs", id.Name, verb)
	}
	return nil
}

func (a *api) Clusters(context.Context) ([]rest.ClusterStatus, error) {
	return []rest.ClusterStatus{{Name: "main", Default: true}, {Name: "other"}}, nil
}
func (a *api) VisibleJobs(ctx context.Context, cluster, namespace string) ([]*v1alpha1.TrainingJob, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	if a.crowded && namespace == "" {
		return nil, access.ErrTooMany
	}
	if err := a.check(ctx, "list"); err != nil {
		return nil, err
	}
	if cluster != "main" {
		return nil, problem.Newf(problem.NotFound, "there is no cluster %s", cluster)
	}
	return slices.Clone(a.jobs), nil
}

func (a *api) VisibleNamespaces(context.Context, string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.crowded {
		return nil, access.ErrTooMany
	}
	all := []string{}
	for _, job := range a.jobs {
		all = append(all, job.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (a *api) find(at rest.JobPath) (*v1alpha1.TrainingJob, error) {
	for _, job := range a.jobs {
		if job.Namespace == at.Namespace && job.Name == at.Name {
			return job, nil
		}
	}
	return nil, problem.Newf(problem.NotFound, "there is no job %s", at.Name)
}
func (a *api) GetJob(ctx context.Context, in *rest.GetInput) (*rest.JobOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(ctx, "get"); err != nil {
		return nil, err
	}
	job, err := a.find(in.JobPath)
	if err != nil {
		return nil, err
	}
	return &rest.JobOutput{Body: rest.NewJob(job)}, nil
}
func (a *api) May(ctx context.Context, _ string, do authorizationv1.ResourceAttributes) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	verb := do.Verb
	if do.Resource != "trainingjobs" {
		verb += " " + do.Resource
	}
	return a.check(ctx, verb) == nil, a.away
}

func (a *api) ask(what string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, what)
	return a.warnings, a.refuses
}
func (a *api) ActOnJob(_ context.Context, action rest.Action, in *rest.ActionInput) (*rest.JobOutput, error) {
	warnings, err := a.ask(fmt.Sprintf("%s %s/%s %s", action, in.Namespace, in.Name, in.IfMatch.IfMatch))
	return &rest.JobOutput{Warning: warnings}, err
}
func (a *api) DeleteJob(_ context.Context, in *rest.DeleteInput) (*rest.DeleteOutput, error) {
	warnings, err := a.ask(fmt.Sprintf("delete %s/%s %s", in.Namespace, in.Name, in.IfMatch.IfMatch))
	return &rest.DeleteOutput{Warning: warnings}, err
}
func (a *api) CreateJob(_ context.Context, in *rest.CreateInput) (*rest.CreateOutput, error) {
	warnings, err := a.ask("create " + in.Namespace + " " + in.DryRun.DryRun)
	a.locked(func() { a.created = append(a.created, in) })
	return &rest.CreateOutput{Warning: warnings, Body: rest.NewJob(newJob(in.Namespace, "made"))}, err
}

// jobsLive follows jobs, ranksPlaced follows ranks: both methods are called Follow.
type (
	jobsLive    struct{ *api }
	ranksPlaced struct{ *api }
)

func (a ranksPlaced) Follow(_, namespace, name string) (<-chan struct{}, func(), error) {
	changes := make(chan struct{}, 100)
	a.locked(func() {
		if a.placed == nil {
			a.placed = map[string]chan struct{}{}
		}
		a.placed[namespace+"/"+name] = changes
	})
	return changes, func() {}, nil
}
func (a jobsLive) Follow(string, live.Filter) (<-chan live.Event, func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away != nil {
		return nil, nil, a.away
	}
	changes := make(chan live.Event, 100)
	a.followers[changes] = true
	a.follows++
	return changes, func() { a.locked(func() { delete(a.followers, changes) }) }, nil
}

// change the jobs and notify the followers.
func (a *api) change(edit func()) {
	a.locked(func() {
		edit()
		for changes := range a.followers {
			changes <- live.Event{}
		}
	})
}

// set a new version of a job.
func (a *api) set(name string, edit func(*v1alpha1.TrainingJob)) {
	a.change(func() {
		for i, job := range a.jobs {
			if job.Name == name {
				a.jobs[i] = job.DeepCopy()
				a.jobs[i].ResourceVersion += "0"
				edit(a.jobs[i])
			}
		}
	})
}
