package historyview

import (
	"fmt"
	"net/url"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

const (
	// maxToken is the maximum length of the parameter continue in bytes, as in the API.
	maxToken = 1024
)

// phases in the order of a job's life. The history has no others.
var phases = []v1alpha1.Phase{
	v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning,
	v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded,
	v1alpha1.PhaseFailed,
}

// reader of the parameters. Phases are joined by commas.
var reader = parameters.Reader{Lists: []string{"phase"}, Long: map[string]int{"continue": maxToken}}

// Query of the history. Empty fields restrict nothing.
type Query struct {
	// Namespace, Queue, User and Name are exact.
	Namespace, Queue, User, Name string
	// Phases in which jobs were last seen.
	Phases []v1alpha1.Phase
	// Deleted is "true" for deleted jobs, "false" for the others.
	Deleted string
	// Continue is the API's token of a page; empty for the first.
	Continue string
}

// ParseQuery parses the parameters of a URL. The error is a problem that names the parameter; an unknown
// parameter is an error.
func ParseQuery(values url.Values) (Query, error) {
	q := &Query{}
	err := reader.Each(values, q.parse)
	return *q, err
}

func (q *Query) parse(name, value string) (err error) {
	switch name {
	case "namespace":
		q.Namespace = value
	case "queue":
		q.Queue = value
	case "user":
		q.User = value
	case "name":
		q.Name = value
	case "phase":
		q.Phases, err = parameters.ParseList(name, value, phases)
	case "deleted":
		if q.Deleted = value; value != "" && value != "true" && value != "false" {
			err = parameters.Invalid(name, fmt.Sprintf("it is %q", value), "give true or false, or leave it out")
		}
	case "continue":
		q.Continue = value
	default:
		err = parameters.Unknown(name)
	}
	return err
}

// Input of the API for the query.
func (q Query) Input(cluster string) *rest.HistoryInput {
	return &rest.HistoryInput{
		ClusterPath: rest.ClusterPath{Cluster: cluster}, Page: rest.Page{Continue: q.Continue},
		Namespace: q.Namespace, Queue: q.Queue, User: q.User, Name: q.Name, Phase: q.Phases, Deleted: q.Deleted,
	}
}

// URL of the page, relative to itself. ParseQuery reads its parameters.
func (q Query) URL() string {
	return "?" + parameters.Values(map[string]string{
		"namespace": q.Namespace, "queue": q.Queue, "user": q.User, "name": q.Name,
		"phase": parameters.Join(q.Phases), "deleted": q.Deleted, "continue": q.Continue,
	}).Encode()
}

// at selects the page of a token; the first if empty.
func (q Query) at(token string) Query {
	q.Continue = token
	return q
}
