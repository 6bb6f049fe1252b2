package problem

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Transform is a huma.Transformer: what huma itself refuses becomes a Problem. It replaces no global variable
// of huma's, as another way of doing so would.
func Transform(_ huma.Context, _ string, v any) (any, error) {
	if refused, ok := v.(*huma.ErrorModel); ok {
		return ofModel(refused), nil
	}
	return v, nil
}

func ofModel(m *huma.ErrorModel) *Problem {
	p := ForStatus(m.Status, "", "")
	all := make([]Error, 0, len(m.Errors))
	for _, e := range m.Errors {
		if e != nil {
			all = append(all, Error{Field: e.Location, Detail: e.Message, Remedy: humaRemedy(e)})
		}
	}
	if p.WithErrors(all); p.Detail == "" {
		p.Detail = m.Detail
	}
	switch {
	case m.Status == http.StatusInternalServerError: // nothing of ours answers so: a library's own words
		return New(Internal, "the server has failed", "tell an admin: the server's log says why").CausedBy(m)
	case p.Remedy != "":
	case m.Status == http.StatusRequestEntityTooLarge:
		p.Remedy = "send less"
	case m.Status == http.StatusBadRequest && len(all) == 0:
		p.Remedy = "send the body that docs/server.md describes"
	case m.Status == http.StatusNotAcceptable:
		p.Detail, p.Remedy = "no media type of the header Accept is served here", "accept application/json"
	}
	return p
}

func humaRemedy(e *huma.ErrorDetail) string {
	where, name, is := strings.Cut(e.Location, ".")
	switch {
	case is && where == "query" && e.Message == "unknown query parameter":
		return "leave " + name + " out: the path does not have it"
	case is && (where == "query" || where == "path" || where == "header"):
		return "give " + name + " a value that it can have (docs/openapi.json)"
	}
	return "change it as the detail says"
}
