package clusterview

import (
	"fmt"
	"net/url"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// maxText of one parameter, in bytes: no name, label or UID of Kubernetes is longer.
const maxText = 253

// Query is what of the map is asked for.
type Query struct {
	// Node whose ranks are listed; empty for none.
	Node string
	// Gang that is shown among the others, by the UID of its job; empty for all alike.
	Gang string
	// Kind of GPU whose nodes are shown; empty for all.
	Kind string
	// Table shows a table instead of the map.
	Table bool
}

// ParseQuery reads the parameters of a URL. The error is a problem that names the parameter; one that the
// page does not have is an error, too.
func ParseQuery(values url.Values) (Query, error) {
	var q Query
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := values.Get(name)
		if len(values[name]) > 1 {
			return q, invalid(name, "it is there more than once", "give it once")
		}
		if len(value) > maxText {
			return q, invalid(name, fmt.Sprintf("it has more than %d bytes", maxText), "give a shorter one")
		}
		switch name {
		case "node":
			q.Node = value
		case "gang":
			q.Gang = value
		case "kind":
			q.Kind = value
		case "view":
			if value != "" && value != "map" && value != "table" {
				return q, invalid(name, fmt.Sprintf("there is no view %q", value), "use map or table")
			}
			q.Table = value == "table"
		default:
			return q, invalid(name, "the page does not have it", "leave it out")
		}
	}
	return q, nil
}

func invalid(parameter, detail, remedy string) error {
	return problem.New(problem.Invalid, detail, remedy).About("query." + parameter)
}

// URL of the page, relative to itself. ParseQuery reads its parameters.
func (q Query) URL() string {
	v := url.Values{}
	for name, value := range map[string]string{"node": q.Node, "gang": q.Gang, "kind": q.Kind} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Table {
		v.Set("view", "table")
	}
	return "?" + v.Encode()
}

// at a node.
func (q Query) at(node string) Query { q.Node = node; return q }

// of a gang, or of none where it is the one already.
func (q Query) of(gang string) Query {
	if q.Gang == gang {
		gang = ""
	}
	q.Gang = gang
	return q
}

// only one kind of GPU.
func (q Query) only(kind string) Query { q.Kind = kind; return q }

// as a table, or as a map.
func (q Query) as(table bool) Query { q.Table = table; return q }
