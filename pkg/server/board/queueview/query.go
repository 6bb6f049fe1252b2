package queueview

import (
	"fmt"
	"net/url"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

// Query of the queues. Empty fields restrict nothing.
type Query struct {
	// Namespace whose queues are requested, in addition to those of the cluster.
	Namespace string
	// Scheduler of a queue; quotas for the pods of all schedulers have none.
	Scheduler string
	// Text is searched in kind, namespace and name of a queue, ignoring case.
	Text string
	// Busy leaves out queues without running or waiting jobs.
	Busy bool
}

// ParseQuery parses the parameters of a URL. The error is a problem that names the parameter; an unknown
// parameter is an error.
func ParseQuery(values url.Values) (Query, error) {
	var q Query
	err := parameters.Reader{}.Each(values, func(name, value string) error {
		switch name {
		case "namespace":
			q.Namespace = value
		case "scheduler":
			q.Scheduler = value
		case "q":
			q.Text = value
		case "busy":
			if value != "" && value != "1" {
				return parameters.Invalid(name, fmt.Sprintf("it is %q", value), "give 1, or leave it out")
			}
			q.Busy = value == "1"
		default:
			return parameters.Unknown(name)
		}
		return nil
	})
	return q, err
}

// URL of the page, relative to itself. ParseQuery reads its parameters.
func (q Query) URL() string {
	v := parameters.Values(map[string]string{"namespace": q.Namespace, "scheduler": q.Scheduler, "q": q.Text})
	if q.Busy {
		v.Set("busy", "1")
	}
	return "?" + v.Encode()
}

func (q Query) passes(of *queues.Queue) bool {
	text := strings.ToLower(of.Kind + " " + of.Namespace + "/" + of.Name)
	return (q.Scheduler == "" || q.Scheduler == string(of.Scheduler)) &&
		strings.Contains(text, strings.ToLower(q.Text)) &&
		(!q.Busy || len(of.Running)+len(of.Waiting) > 0)
}
