package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	authorizationv1 "k8s.io/api/authorization/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// The operations for callers in the same process, such as the board: the same code and rights as over HTTP.
// Each requires the caller in the context (identity.NewContext), and applies the same defaults and limits to
// its input. problem.Of converts errors to those of HTTP.

// Clusters returns the clusters; the first is the default.
func (s *Server) Clusters(ctx context.Context) ([]ClusterStatus, error) {
	out, err := s.clusters(ctx, &struct{}{})
	if err != nil {
		return nil, err
	}
	return out.Body.Items, nil
}

// VisibleJobs returns the jobs of a cluster, or of one of its namespaces, that the caller may list, by
// namespace and name. They are shared: read only.
func (s *Server) VisibleJobs(ctx context.Context, cluster, namespace string) (
	[]*v1alpha1.TrainingJob, error,
) {
	if namespace == "" {
		if err := valid(&ClusterPath{cluster}); err != nil {
			return nil, err
		}
	} else if err := valid(&NamespacePath{ClusterPath{cluster}, namespace}); err != nil {
		return nil, err
	}
	v, err := s.visibleView(ctx, cluster, namespace)
	return v.Jobs, err
}

// GetJob reads a job from the cluster.
func (s *Server) GetJob(ctx context.Context, in *GetInput) (*JobOutput, error) {
	return inProcess(ctx, s.get, in)
}

// CreateJob creates a job from JSON or YAML.
func (s *Server) CreateJob(ctx context.Context, in *CreateInput) (*CreateOutput, error) {
	return inProcess(ctx, s.create, in)
}

// DeleteJob deletes a job.
func (s *Server) DeleteJob(ctx context.Context, in *DeleteInput) (*DeleteOutput, error) {
	return inProcess(ctx, s.delete, in)
}

// ActOnJob suspends, resumes or restarts a job.
func (s *Server) ActOnJob(ctx context.Context, action Action, in *ActionInput) (*JobOutput, error) {
	return inProcess(ctx, func(ctx context.Context, in *ActionInput) (*JobOutput, error) {
		return s.act(ctx, action, in)
	}, in)
}

// JobRecord returns everything about an existing job except its samples.
func (s *Server) JobRecord(ctx context.Context, in *JobPath) (*JobRecord, error) {
	return inProcess(ctx, s.jobRecord, in)
}

// PastJobRecord returns everything from the history except the samples.
func (s *Server) PastJobRecord(ctx context.Context, in *HistoryPath) (*JobRecord, error) {
	return inProcess(ctx, s.pastJobRecord, in)
}

// JobSamples returns the reports of a job's trainer, of the last 24 attempts if there are many.
func (s *Server) JobSamples(ctx context.Context, in *HistoryPath) (*JobSamples, error) {
	return inProcess(ctx, s.jobSamples, in)
}

// JobLogs opens the logs of one job's ranks as the caller.
func (s *Server) JobLogs(ctx context.Context, in *JobPath) (*JobLogs, error) {
	return inProcess(ctx, s.jobLogs, in)
}

// Queues returns the queues with their use and jobs.
func (s *Server) Queues(ctx context.Context, in *QueuesInput) (*QueuesOutput, error) {
	return inProcess(ctx, s.queues, in)
}

// HistoryJobs returns a page of past and current jobs.
func (s *Server) HistoryJobs(ctx context.Context, in *HistoryInput) (*HistoryJobsOutput, error) {
	return inProcess(ctx, s.historyJobs, in)
}

// Accounting returns the usage, and sets the period of the input.
func (s *Server) Accounting(ctx context.Context, in *AccountingInput) (*Accounting, error) {
	return inProcess(ctx, s.used, in)
}

// AccountingCSV returns the usage as CSV.
func (s *Server) AccountingCSV(ctx context.Context, in *AccountingInput) ([]byte, error) {
	a, err := s.Accounting(ctx, in)
	if err != nil {
		return nil, err
	}
	return encodeCSV(a)
}

// Follow follows the changes of a cluster's jobs until close is called. The channel is closed if its reader
// is too slow. It reviews no rights: use it only to know when to read again.
func (s *Server) Follow(cluster string, filter live.Filter) (
	changes <-chan live.Event, closeIt func(), err error,
) {
	if err := s.known(cluster); err != nil {
		return nil, nil, err
	}
	subscription, err := s.Live.Subscribe(cluster, filter, "")
	if err != nil {
		return nil, nil, liveError(cluster, err)
	}
	subscription.Jobs = nil
	return subscription.Events(), subscription.Close, nil
}

// May reports whether the caller has a right, by a review that is at most a few seconds old.
func (s *Server) May(ctx context.Context, cluster string, do authorizationv1.ResourceAttributes) (
	bool, error,
) {
	if err := s.known(cluster); err != nil {
		return false, err
	}
	return s.may(ctx, cluster, do)
}

// inProcess runs an operation like a request over HTTP.
func inProcess[I, O any](ctx context.Context, do func(context.Context, *I) (*O, error), in *I) (*O, error) {
	if err := valid(in); err != nil {
		return nil, err
	}
	return do(ctx, in)
}

// parameter of an operation's input.
type parameter struct {
	index    []int
	name     string // such as query.limit
	required bool
	schema   *huma.Schema
	// timeFormat of a time; empty for RFC 3339.
	timeFormat string
}

// written returns a value in the format of a request.
func (p parameter) written(value any) any {
	if t, is := value.(time.Time); is && p.timeFormat != "" {
		return t.Format(p.timeFormat)
	}
	return value
}

// parameters by input type: the tags are read once.
var parameters sync.Map

// valid sets the defaults of an input, and returns huma's Problem if parameters are out of bounds.
func valid(in any) error {
	value := reflect.ValueOf(in).Elem()
	known, found := parameters.Load(value.Type())
	if !found {
		known, _ = parameters.LoadOrStore(value.Type(), parametersOf(value.Type(), nil))
	}
	refused := &huma.ErrorModel{Status: problem.Invalid.Status}
	for _, p := range known.([]parameter) {
		field := value.FieldByIndex(p.index)
		if field.IsZero() && p.schema.Default != nil {
			text, _ := json.Marshal(p.schema.Default) // of a tag
			if err := json.Unmarshal(text, field.Addr().Interface()); err != nil {
				return fmt.Errorf("reading the default of %s: %w", p.name, err)
			}
		}
		if field.IsZero() && !p.required {
			continue
		}
		text, err := json.Marshal(p.written(field.Interface()))
		var plain any
		if err == nil {
			err = json.Unmarshal(text, &plain)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", p.name, err)
		}
		result, at := &huma.ValidateResult{}, huma.NewPathBuffer(nil, 0)
		at.Push(p.name)
		huma.Validate(nil, p.schema, at, huma.ModeWriteToServer, plain, result)
		for _, err := range result.Errors {
			if detail, is := err.(*huma.ErrorDetail); is {
				refused.Errors = append(refused.Errors, detail)
			}
		}
	}
	if len(refused.Errors) == 0 {
		return nil
	}
	p, _ := problem.Transform(nil, strconv.Itoa(refused.Status), refused)
	return p.(error)
}

func parametersOf(t reflect.Type, within []int) []parameter {
	var all []parameter
	for i := range t.NumField() {
		f, index := t.Field(i), append(append([]int{}, within...), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			all = append(all, parametersOf(f.Type, index)...)
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name, _, _ := strings.Cut(f.Tag.Get(in), ",")
			if name == "" {
				continue
			}
			schema := huma.SchemaFromField(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer), f, "")
			schema.PrecomputeMessages()
			all = append(all, parameter{index, in + "." + name, in == "path", schema, f.Tag.Get("timeFormat")})
		}
	}
	return all
}
