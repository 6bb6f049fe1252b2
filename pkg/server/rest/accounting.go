package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/negotiation"

	"mlplatform.example.com/trainingjob-operator/pkg/cost"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

const day = 24 * time.Hour

// AccountingInput requests the usage.
type AccountingInput struct {
	ClusterPath
	Accept    string            `header:"Accept" hidden:"true"`
	By        []store.Dimension `query:"by" maxItems:"6" uniqueItems:"true" enum:"job,queue,user,namespace,gpuKind,day" doc:"Dimensions, separated by commas. Without any there is one sum."`
	From      time.Time         `query:"from" timeFormat:"2006-01-02" doc:"First day, UTC. By default the first of this month."`
	To        time.Time         `query:"to" timeFormat:"2006-01-02" doc:"Day after the last one, UTC. By default tomorrow."`
	Namespace string            `query:"namespace" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Only one namespace. By default all in which the caller may list TrainingJobs."`
}

// Accounting is the usage in a period.
type Accounting struct {
	Cluster  string            `json:"cluster"`
	From     string            `json:"from" format:"date" doc:"First day, UTC."`
	To       string            `json:"to" format:"date" doc:"Day after the last one, UTC."`
	Time     time.Time         `json:"time" doc:"End of open spans in the sums."`
	By       []store.Dimension `json:"by" nullable:"false"`
	Currency string            `json:"currency,omitempty" doc:"Currency of the costs; absent without prices."`
	Total    Usage             `json:"total"`
	Items    []Usage           `json:"items" nullable:"false" doc:"By day, if requested, then by GPU-seconds, the most first."`
	// Truncated reports whether some usage is not counted.
	Truncated bool `json:"truncated,omitempty" doc:"Whether only the largest usages are counted, because there are too many: request a shorter period, or fewer dimensions."`
}

// Usage is one sum. Other dimensions are absent.
type Usage struct {
	Day            string `json:"day,omitempty" format:"date"`
	Namespace      string `json:"namespace,omitempty"`
	Queue          string `json:"queue,omitempty"`
	User           string `json:"user,omitempty"`
	GPUKind        string `json:"gpuKind,omitempty"`
	JobUID         string `json:"jobUID,omitempty"`
	JobName        string `json:"jobName,omitempty"`
	QueuedSeconds  int64  `json:"queuedSeconds" doc:"Time in which attempts waited."`
	RunningSeconds int64  `json:"runningSeconds" doc:"Time in which attempts ran."`
	GPUSeconds     int64  `json:"gpuSeconds" doc:"Running time multiplied by the GPUs of the gang."`
	GPUHours       string `json:"gpuHours" doc:"GPU-seconds in hours, as a decimal number."`
	LostSeconds    int64  `json:"lostSeconds" doc:"Running time whose training had to be repeated."`
	LostGPUSeconds int64  `json:"lostGPUSeconds"`
	Jobs           int64  `json:"jobs" doc:"Jobs that were created in the period."`
	Attempts       int64  `json:"attempts" doc:"Attempts that were first queued in the period."`
	Preemptions    int64  `json:"preemptions" doc:"Preemptions in the period."`
	Assumed        int64  `json:"assumed,omitempty" doc:"Attempts that were not observed, whose GPUs are assumed to be those of the next."`
	UnknownEnds    int64  `json:"unknownEnds,omitempty" doc:"Spans with an unknown end; they are not counted."`

	Asked                   int64 `json:"asked" doc:"How often trainers were asked for a checkpoint before a preemption."`
	Saved                   int64 `json:"saved" doc:"How often nothing was lost then."`
	PreemptedLostGPUSeconds int64 `json:"preemptedLostGPUSeconds" doc:"The part of lostGPUSeconds that preemptions by the operator lost."`
	RoomMade                int64 `json:"roomMade" doc:"How often the operator preempted others for a gang."`
	RoomSeconds             int64 `json:"roomSeconds" doc:"How long these gangs waited for capacity."`

	Cost     *string  `json:"cost" nullable:"true" doc:"A decimal number in the currency; null if a kind of GPU has no price."`
	Unpriced []string `json:"unpricedGPUKinds,omitempty" doc:"Kinds of GPU that were used and have no price."`

	cost cost.Cost
}

// AccountingOutput is an Accounting, as JSON or CSV.
type AccountingOutput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Vary        string `header:"Vary" hidden:"true"`
	Body        []byte
}

func (s *Server) routeAccounting() {
	responses := text(typeCSV, "The usage")
	responses["200"].Content[typeJSON] = &huma.MediaType{
		Schema: schemaOf[Accounting](s.api.OpenAPI().Components.Schemas),
	}
	register(s, huma.Operation{
		OperationID: "getAccounting", Method: http.MethodGet, Path: inCluster + "/accounting", Tags: tagHistory,
		Summary: "Get the usage and its costs",
		Description: "Sums over the namespaces in which the caller may list TrainingJobs, including " +
			"deleted jobs. " +
			"As CSV if Accept requests text/csv. At most 1100 days; by day 366; by job, by user and " +
			"queue, or by user or queue and day 31.",
		Responses: responses,
	}, s.accounting)
}

// accounting returns the usage in the requested media type.
func (s *Server) accounting(ctx context.Context, in *AccountingInput) (*AccountingOutput, error) {
	a, err := s.used(ctx, in)
	if err != nil {
		return nil, err
	}
	if negotiation.SelectQValue(in.Accept, []string{typeJSON, typeCSV}) == typeCSV {
		body, err := encodeCSV(a)
		return &AccountingOutput{typeCSV + "; charset=utf-8", "Accept", body}, err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encoding the accounting: %w", err)
	}
	return &AccountingOutput{typeJSON, "Accept", body}, nil
}

// used returns the usage with its costs.
func (s *Server) used(ctx context.Context, in *AccountingInput) (*Accounting, error) {
	if err := s.known(in.Cluster); err != nil {
		return nil, err
	}
	now := s.Clock.Now().UTC()
	in.complete(now)
	namespaces, err := s.historyNamespaces(ctx, in.Cluster, in.Namespace)
	if err != nil {
		return nil, err
	}
	by := in.By
	if !slices.Contains(by, store.ByGPUKind) { // prices are by kind
		by = append(slices.Clone(by), store.ByGPUKind)
	}
	used, err := s.History.Accounting(ctx, store.AccountingQuery{
		Cluster: in.Cluster, Namespaces: namespaces, From: in.From, To: in.To, Now: now, By: by,
	})
	if err != nil {
		return nil, historyError(err)
	}
	return s.report(in, now, used), nil
}

// complete sets the default period: this month until today.
func (in *AccountingInput) complete(now time.Time) {
	if in.To.IsZero() {
		in.To = now.Truncate(day).Add(day)
	}
	if in.From.IsZero() {
		last := in.To.Add(-day)
		in.From = time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
}

// report converts sums, and computes their costs.
func (s *Server) report(in *AccountingInput, now time.Time, used []store.Usage) *Accounting {
	a := &Accounting{
		Cluster: in.Cluster, From: in.From.Format(time.DateOnly), To: in.To.Format(time.DateOnly), Time: now,
		By: append([]store.Dimension{}, in.By...), Items: s.fold(in.By, used),
		Truncated: len(used) >= store.MaxUsages,
	}
	if len(s.Prices) > 0 {
		a.Currency = s.Currency
	}
	for i := range a.Items {
		a.Total.sum(&a.Items[i])
		a.Items[i].derive()
	}
	a.Total.derive()
	return a
}

// fold adds up the kinds of GPU if they are not a requested dimension.
func (s *Server) fold(by []store.Dimension, used []store.Usage) []Usage {
	kinds := slices.Contains(by, store.ByGPUKind)
	rows, at := []Usage{}, map[store.Usage]int{}
	for i := range used {
		u := used[i]
		key := store.Usage{
			Day: u.Day, Namespace: u.Namespace, Queue: u.Queue, User: u.User, JobUID: u.JobUID, JobName: u.JobName,
		}
		if kinds {
			key.GPUKind = u.GPUKind
		}
		n, known := at[key]
		if !known {
			n = len(rows)
			at[key] = n
			rows = append(rows, rowOf(key))
		}
		row := &rows[n]
		row.add(&u)
		row.cost.Add(u.GPUSeconds, u.GPUKind, s.Prices)
	}
	slices.SortStableFunc(rows, func(a, b Usage) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), cmp.Compare(b.GPUSeconds, a.GPUSeconds))
	})
	return rows
}

func rowOf(key store.Usage) Usage {
	u := Usage{
		Namespace: key.Namespace, Queue: key.Queue, User: key.User, GPUKind: key.GPUKind, JobUID: key.JobUID,
		JobName: key.JobName,
	}
	if !key.Day.IsZero() {
		u.Day = key.Day.UTC().Format(time.DateOnly)
	}
	return u
}

func (u *Usage) add(o *store.Usage) {
	u.QueuedSeconds += o.QueuedSeconds
	u.RunningSeconds += o.RunningSeconds
	u.GPUSeconds += o.GPUSeconds
	u.LostSeconds += o.LostSeconds
	u.LostGPUSeconds += o.LostGPUSeconds
	u.Jobs += o.Jobs
	u.Attempts += o.Attempts
	u.Preemptions += o.Preemptions
	u.Assumed += o.Assumed
	u.UnknownEnds += o.UnknownEnds
	u.Asked += o.Asked
	u.Saved += o.Saved
	u.PreemptedLostGPUSeconds += o.PreemptedLostGPUSeconds
	u.RoomMade += o.RoomMade
	u.RoomSeconds += o.RoomSeconds
}

// sum adds a row.
func (u *Usage) sum(o *Usage) {
	u.add(&store.Usage{
		QueuedSeconds: o.QueuedSeconds, RunningSeconds: o.RunningSeconds, GPUSeconds: o.GPUSeconds,
		LostSeconds: o.LostSeconds, LostGPUSeconds: o.LostGPUSeconds, Jobs: o.Jobs, Attempts: o.Attempts,
		Preemptions: o.Preemptions, Assumed: o.Assumed, UnknownEnds: o.UnknownEnds, Asked: o.Asked,
		Saved: o.Saved, PreemptedLostGPUSeconds: o.PreemptedLostGPUSeconds, RoomMade: o.RoomMade,
		RoomSeconds: o.RoomSeconds,
	})
	u.cost.Join(&o.cost)
}

// derive sets the fields that are computed from the sums.
func (u *Usage) derive() {
	u.GPUHours, u.Cost, u.Unpriced = cost.Hours(u.GPUSeconds), u.cost.Amount(), u.cost.Unpriced()
}
