package rest

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"mlplatform.example.com/trainingjob-operator/pkg/server/events"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// EventsInput requests changes of jobs.
type EventsInput struct {
	ClusterPath
	Namespace   string `query:"namespace" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Only jobs of one namespace."`
	Name        string `query:"name" maxLength:"63" pattern:"^[a-z]([-a-z0-9]*[a-z0-9])?$" doc:"Only the job with a name; requires namespace."`
	After       string `query:"after" maxLength:"64" doc:"Position of a list, or id of an event: send the changes since then. Without it, or if it is too old, the stream begins with reset and all current jobs."`
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"Like the parameter after, which it overrides: browsers send it when they reconnect."`
}

// Names of events in addition to live.Change.
const (
	eventReset  = "reset"
	eventSynced = string(live.Synced)
)
const aboutEvents = `Server-sent events. Each has a name, an id, and a JSON object as its data:
- added, modified, deleted: the current TrainingJob, or its last version. Events can repeat.
- reset, {}: discard all jobs; the current ones follow as added.
- synced, {}: all current jobs or missed changes have been sent; live changes follow.

A browser that reconnects sends the id of the last event, and misses nothing. Comments are sent while
nothing happens. The stream ends if its reader is too slow, and after an hour at the latest.`

func (s *Server) routeEvents() {
	schemas := s.api.OpenAPI().Components.Schemas
	register(s, huma.Operation{
		OperationID: "streamEvents", Method: http.MethodGet, Path: inCluster + "/events", Tags: tagJobs,
		Summary: "Follow the changes of TrainingJobs", Description: aboutEvents,
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of events",
			Content: map[string]*huma.MediaType{events.MediaType: {Schema: &huma.Schema{
				Type: huma.TypeArray, Description: "Events in the order in which they are sent.",
				Items: &huma.Schema{
					Type: huma.TypeObject, Required: []string{"event", "id", "data"},
					Properties: map[string]*huma.Schema{
						"event": {Type: huma.TypeString, Enum: []any{
							string(live.Added), string(live.Modified), string(live.Deleted), eventReset, eventSynced,
						}},
						"id":   {Type: huma.TypeString},
						"data": schemas.Schema(reflect.TypeFor[Job](), true, ""),
					},
				},
			}}},
		}},
	}, s.events)
}
func (s *Server) events(ctx context.Context, in *EventsInput) (*huma.StreamResponse, error) {
	if err := s.known(in.Cluster); err != nil {
		return nil, err
	}
	if in.Name != "" && in.Namespace == "" {
		return nil, problem.New(problem.Invalid, "name requires namespace", "set namespace, too").
			About("query.name")
	}
	if in.Namespace != "" {
		if err := s.listable(ctx, in.Cluster, in.Namespace); err != nil {
			return nil, err
		}
	}
	if err := s.BeginStream(ctx); err != nil {
		return nil, err
	}
	after := in.LastEventID
	if after == "" {
		after = in.After
	}
	subscription, err := s.Live.Subscribe(in.Cluster, live.Filter{Namespace: in.Namespace, Name: in.Name}, after)
	if err != nil {
		return nil, liveError(in.Cluster, err)
	}
	r := &reader{server: s, cluster: in.Cluster, seen: map[string]bool{}}
	if err := r.learn(ctx, subscription.Namespaces); err != nil { // while the status can report the error
		subscription.Close()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer subscription.Close()
		r.out = s.streamTo(h, events.MediaType)
		if err := r.run(ctx, subscription); err != nil && ctx.Err() == nil {
			s.Log.V(1).Info("A stream of events has ended", "cluster", in.Cluster, "why", err.Error())
		}
	}}, nil
}

// reader of events, and its rights.
type reader struct {
	server  *Server
	cluster string
	out     *events.Writer
	// seen is whether the reader may list the jobs of a namespace, at the last review.
	seen map[string]bool
}

// run sends events until the reader disconnects, loses its rights or reaches the time limit.
func (r *reader) run(ctx context.Context, sub *live.Subscription) error {
	if err := r.begin(ctx, sub); err != nil {
		return err
	}
	s := r.server
	heartbeat, recheck := s.Clock.NewTicker(s.Heartbeat), s.Clock.NewTicker(s.Recheck)
	end := s.Clock.NewTimer(s.LongestStream)
	defer heartbeat.Stop()
	defer recheck.Stop()
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-end.C():
			return r.out.Comment("the longest time of a stream is over: connect again")
		case e, open := <-sub.Events():
			if !open {
				return r.out.Comment("the reader does not keep up, or the server ends: connect again")
			}
			if err := r.change(ctx, e); err != nil {
				return err
			}
		case <-recheck.C():
			if same, err := r.recheck(ctx); err != nil || !same {
				return err
			}
		case <-heartbeat.C():
			if err := r.out.Comment("nothing has happened"); err != nil {
				return err
			}
		}
	}
}

// begin sends all jobs, unless the stream continues an earlier one.
func (r *reader) begin(ctx context.Context, sub *live.Subscription) error {
	if sub.Reset {
		if err := r.out.Event(eventReset, sub.Position, []byte("{}")); err != nil {
			return err
		}
	}
	for _, job := range sub.Jobs {
		if !r.seen[job.Namespace] {
			continue
		}
		data, err := encodeJob(job)
		if err != nil {
			return fmt.Errorf("encoding a job: %w", err)
		}
		// Without an id: a reader that does not receive all of them starts again.
		if err := r.out.Event(string(live.Added), "", data); err != nil {
			return err
		}
	}
	sub.Jobs = nil // they change while the stream goes on
	if sub.Reset {
		return r.out.Event(eventSynced, sub.Position, []byte("{}"))
	}
	return nil
}

// change sends a change, if the reader may see it.
func (r *reader) change(ctx context.Context, e live.Event) error {
	if e.Change == live.Synced {
		return r.out.Event(eventSynced, e.Position, []byte("{}"))
	}
	if _, known := r.seen[e.Job.Namespace]; !known {
		if err := r.learn(ctx, []string{e.Job.Namespace}); err != nil {
			return err
		}
	}
	if !r.seen[e.Job.Namespace] {
		return nil
	}
	data, err := e.Encoded(encodeJob)
	if err != nil {
		return fmt.Errorf("encoding a job: %w", err)
	}
	return r.out.Event(string(e.Change), e.Position, data)
}

// learn reviews in which of some namespaces the reader may list jobs.
func (r *reader) learn(ctx context.Context, namespaces []string) error {
	may, err := r.server.visible(ctx, r.cluster, namespaces)
	if err != nil {
		return err
	}
	for _, namespace := range namespaces {
		r.seen[namespace] = may(namespace)
	}
	return nil
}

// recheck reviews the reader's rights. If they changed the stream ends with an invalid id, so that the reader
// starts again.
func (r *reader) recheck(ctx context.Context) (same bool, err error) {
	before := r.seen
	r.seen = map[string]bool{}
	var all []string
	for namespace := range before {
		all = append(all, namespace)
	}
	if err := r.learn(ctx, all); err != nil {
		return false, err
	}
	if reflect.DeepEqual(before, r.seen) {
		return true, nil
	}
	return false, r.out.Event(eventReset, "rights-changed", []byte("{}"))
}
