package clusterview

import (
	"fmt"
	"net/url"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

// Query of the map.
type Query struct {
	// Node whose ranks are listed, or empty.
	Node string
	// Gang to highlight, by the UID of its job, or empty.
	Gang string
	// Kind of GPU whose nodes are shown; empty for all.
	Kind string
	// Table shows a table instead of the map.
	Table bool
}

// ParseQuery parses the parameters of a URL. The error is a problem that names the parameter; an unknown
// parameter is an error.
func ParseQuery(values url.Values) (Query, error) {
	var q Query
	err := parameters.Reader{}.Each(values, func(name, value string) error {
		switch name {
		case "node":
			q.Node = value
		case "gang":
			q.Gang = value
		case "kind":
			q.Kind = value
		case "view":
			if value != "" && value != "map" && value != "table" {
				return parameters.Invalid(name, fmt.Sprintf("there is no view %q", value), "use map or table")
			}
			q.Table = value == "table"
		default:
			return parameters.Unknown(name)
		}
		return nil
	})
	return q, err
}

// URL of the page, relative to itself. ParseQuery reads its parameters.
func (q Query) URL() string {
	v := parameters.Values(map[string]string{"node": q.Node, "gang": q.Gang, "kind": q.Kind})
	if q.Table {
		v.Set("view", "table")
	}
	return "?" + v.Encode()
}

// at selects a node.
func (q Query) at(node string) Query { q.Node = node; return q }

// of highlights a gang, or none if it is highlighted already.
func (q Query) of(gang string) Query {
	if q.Gang == gang {
		gang = ""
	}
	q.Gang = gang
	return q
}

// only selects one kind of GPU.
func (q Query) only(kind string) Query { q.Kind = kind; return q }

// as selects the table or the map.
func (q Query) as(table bool) Query { q.Table = table; return q }
