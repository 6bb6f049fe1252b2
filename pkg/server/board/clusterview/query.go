package clusterview

import (
	"fmt"
	"net/url"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/parameters"
)

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
