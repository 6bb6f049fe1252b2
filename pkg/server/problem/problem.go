package problem

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// MediaType of a Problem.
const MediaType = "application/problem+json"

// Problem is why a request failed.
type Problem struct {
	// Type is one of the URIs of Types, or about:blank.
	Type string `json:"type"`
	// Title of the type, the same for all of its problems.
	Title string `json:"title"`
	// Status of the response.
	Status int `json:"status"`
	// Detail is what is wrong with this request.
	Detail string `json:"detail,omitempty"`
	// Field of the request that is wrong, such as spec.replicas, query.limit or header.If-Match; absent if
	// unknown.
	Field string `json:"field,omitempty"`
	// Remedy is what the client can do about it.
	Remedy string `json:"remedy,omitempty"`
	// Errors lists all errors if there are several. The first has the Problem's own field.
	Errors []Error `json:"errors,omitempty"`

	header http.Header
	cause  error
}

// Error is one of several errors.
type Error struct {
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// New creates a Problem.
func New(t Type, detail, remedy string) *Problem {
	return &Problem{Type: t.URI, Title: t.Title, Status: t.Status, Detail: detail, Remedy: remedy}
}

// Newf is New with a formatted detail and no remedy; add one with WithRemedy.
func Newf(t Type, format string, args ...any) *Problem {
	return New(t, fmt.Sprintf(format, args...), "")
}

// ForStatus creates a Problem of the first type in Types with a status, else of about:blank with HTTP's
// title.
func ForStatus(status int, detail, remedy string) *Problem {
	for _, t := range types {
		if t.Status == status {
			return New(t, detail, remedy)
		}
	}
	return &Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Remedy: remedy,
	}
}

// About sets the field that is wrong.
func (p *Problem) About(field string) *Problem {
	p.Field = field
	return p
}

// WithRemedy sets what the client can do.
func (p *Problem) WithRemedy(remedy string) *Problem {
	p.Remedy = remedy
	return p
}

// WithErrors sets all errors. The first fills in an empty detail, field and remedy. A single error is not
// listed.
func (p *Problem) WithErrors(all []Error) *Problem {
	if len(all) == 0 {
		return p
	}
	for _, text := range []struct {
		of   *string
		from string
	}{{&p.Detail, all[0].Detail}, {&p.Field, all[0].Field}, {&p.Remedy, all[0].Remedy}} {
		if *text.of == "" {
			*text.of = text.from
		}
	}
	if len(all) > 1 {
		p.Errors = all
	}
	return p
}

// WithHeader adds a header to the response.
func (p *Problem) WithHeader(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// RetryAfter sets when the client can retry, rounded up to whole seconds and at least one.
func (p *Problem) RetryAfter(d time.Duration) *Problem {
	seconds := max(1, int64((d+time.Second-1)/time.Second))
	return p.WithHeader("Retry-After", strconv.FormatInt(seconds, 10))
}

// CausedBy sets an error for the server's log. The client does not receive it.
func (p *Problem) CausedBy(err error) *Problem {
	p.cause = err
	return p
}

// Cause returns the error for the server's log; nil if the Problem is complete.
func (p *Problem) Cause() error { return p.cause }

// Error implements error.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	if p.Remedy != "" {
		text += ": " + p.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return maps.Clone(p.header) }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return MediaType }
