package problem

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Transform is a huma.Transformer that converts huma's own errors to Problems. It needs no change of huma's
// global variables.
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
	case m.Status == http.StatusInternalServerError: // our code never returns it: the text is a library's
		return New(Internal, "the server has failed",
			"report this to an admin: the server's log has the cause").CausedBy(m)
	case p.Remedy != "":
	case m.Status == http.StatusRequestEntityTooLarge:
		p.Remedy = "send less"
	case m.Status == http.StatusBadRequest && len(all) == 0:
		p.Remedy = "send a body as in docs/server.md"
	case m.Status == http.StatusNotAcceptable:
		p.Detail, p.Remedy = "the header Accept has no supported media type", "accept application/json"
	}
	return p
}

func humaRemedy(e *huma.ErrorDetail) string {
	where, name, is := strings.Cut(e.Location, ".")
	switch {
	case is && where == "query" && e.Message == "unknown query parameter":
		return "remove " + name + ": the path has no such parameter"
	case is && (where == "query" || where == "path" || where == "header"):
		return "set " + name + " to a valid value (docs/openapi.json)"
	}
	return "correct it as described"
}
