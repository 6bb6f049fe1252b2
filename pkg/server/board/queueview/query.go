package queueview

import (
	"fmt"
	"net/url"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

// Query is what of the queues is asked for. What is empty restricts nothing.
type Query struct {
	// Namespace whose queues are asked of the API, with those of the whole cluster.
	Namespace string
	// Scheduler that a queue belongs to; quotas that bind the pods of all have none.
	Scheduler string
	// Text is looked for in kind, namespace and name of a queue, in any case of letters.
	Text string
	// Busy leaves out the queues in which no job runs or waits.
	Busy bool
}

// ParseQuery reads the parameters of a URL. The error is a problem that names the parameter; one that the
// page does not have is an error, too.
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
	v := url.Values{}
	for name, value := range map[string]string{
		"namespace": q.Namespace, "scheduler": q.Scheduler, "q": q.Text,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
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
