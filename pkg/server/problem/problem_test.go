package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	jobs    = schema.GroupResource{Group: "mlplatform.example.com", Resource: "trainingjobs"}
	jobKind = schema.GroupKind{Group: jobs.Group, Kind: "TrainingJob"}
)

// TestOf: what a client is shown of each error.
func TestOf(t *testing.T) {
	impersonation := apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, "ann",
		errors.New(`User "server" cannot impersonate resource "users" in API group ""`))
	invalid := apierrors.NewInvalid(jobKind, "bert", field.ErrorList{
		field.Invalid(field.NewPath("spec"), field.OmitValueType{},
			"minAvailable 9 exceeds the 8 ranks: set at most 8"),
		field.Invalid(field.NewPath("spec", "replicas"), 9, "too many: use fewer"),
		field.Invalid(field.NewPath("spec", "name"), `a"b: c`, "must match"),
		field.Required(field.NewPath("spec", "image"), "give an image"),
	})
	for name, c := range map[string]struct {
		err    error
		want   Problem
		header string
		cause  bool
		reason string
	}{
		"a problem": {
			err:    fmt.Errorf("wrapped: %w", New(Conflict, "a", "b").About("c")),
			want:   Problem{Type: Conflict.URI, Title: "Conflict", Status: 409, Detail: "a", Remedy: "b", Field: "c"},
			reason: "who made it knows best",
		},
		"forbidden by RBAC": {
			err: apierrors.NewForbidden(jobs, "bert", errors.New(`User "ann" cannot get resource "trainingjobs"`)),
			want: Problem{Type: Forbidden.URI, Title: "Forbidden", Status: 403,
				Detail: `trainingjobs.mlplatform.example.com "bert" is forbidden: ` +
					`User "ann" cannot get resource "trainingjobs"`,
				Remedy: "ask an admin of the cluster for the right"},
			reason: "as kubectl says it",
		},
		"the server may not impersonate": {
			err: impersonation,
			want: Problem{Type: Unavailable.URI, Title: "Unavailable", Status: 503,
				Detail: "the server has no right to act for you in this cluster",
				Remedy: "ask an admin to grant the server the right to impersonate you (docs/server.md)"},
			cause: true, reason: "it is no right of the caller's that lacks",
		},
		"the server's own credentials": {
			err: apierrors.NewUnauthorized("token expired"),
			want: Problem{Type: BadGateway.URI, Title: "Bad gateway", Status: 502,
				Detail: "the cluster does not accept the server's own credentials",
				Remedy: "report this to an admin: the server's kubeconfig or service account is no longer " +
					"valid"},
			cause: true, reason: "401 would make the caller log in again in vain",
		},
		"several things invalid": {
			err: invalid,
			want: Problem{Type: Invalid.URI, Title: "Invalid", Status: 422, Field: "spec",
				Detail: "minAvailable 9 exceeds the 8 ranks", Remedy: "set at most 8",
				Errors: []Error{
					{Field: "spec", Detail: "minAvailable 9 exceeds the 8 ranks", Remedy: "set at most 8"},
					{Field: "spec.replicas", Detail: "too many", Remedy: "use fewer"},
					{Field: "spec.name", Detail: "must match", Remedy: "correct it as described"},
					{Field: "spec.image", Detail: "give an image", Remedy: "correct it as described"},
				}},
			reason: "the rules' own words, behind the API server's preamble",
		},
		"fields that do not exist": {
			err: apierrors.NewInvalid(jobKind, "bert", field.ErrorList{field.Invalid(field.NewPath("patch"), "{}",
				`strict decoding error: unknown field "spec.replica", duplicate field "spec.image"`)}),
			want: Problem{Type: Malformed.URI, Title: "Malformed request", Status: 400, Field: "spec.replica",
				Detail: "unknown field", Remedy: "remove it, or correct its name (docs/api.md)",
				Errors: []Error{
					{"spec.replica", "unknown field", "remove it, or correct its name (docs/api.md)"},
					{"spec.image", "duplicate field", "remove one of them"},
				}},
			reason: "as those of a body that is read here",
		},
		"a name that is taken": {
			err: apierrors.NewAlreadyExists(jobs, "bert"),
			want: Problem{Type: AlreadyExists.URI, Title: "Already exists", Status: 409,
				Detail: `trainingjobs.mlplatform.example.com "bert" already exists`, Remedy: "choose another name"},
			reason: "it differs from a conflict of versions",
		},
		"overload": {
			err: apierrors.NewTooManyRequests("slow down", 7), header: "7",
			want: Problem{Type: TooManyRequests.URI, Title: "Too many requests", Status: 429, Detail: "slow down",
				Remedy: "send the request again"},
			reason: "the API server's own delay is passed on",
		},
		"a body without end": {
			err: fmt.Errorf("reading: %w", &http.MaxBytesError{Limit: 10}),
			want: Problem{Type: TooLarge.URI, Title: "Request too large", Status: 413,
				Detail: "the body has more than 10 bytes"},
			reason: "middleware limits bodies",
		},
		"too slow": {
			err: context.DeadlineExceeded, cause: true,
			want: Problem{Type: GatewayTimeout.URI, Title: "Gateway timeout", Status: 504,
				Detail: "the response took too long", Remedy: "send the request again"},
			reason: "a timeout is the server's, and not a failure of its code",
		},
		"an error that says it itself": {
			err: fmt.Errorf("wrapped: %w", busy{status: 429, retryAfter: 1500 * time.Millisecond}), header: "2",
			want: Problem{Type: TooManyRequests.URI, Title: "Too many requests", Status: 429, Detail: "busy",
				Remedy: "wait"},
			reason: "packages that know no problems have their own words",
		},
		"one of the server's": {
			err: busy{status: 503}, cause: true,
			want:   Problem{Type: Unavailable.URI, Title: "Unavailable", Status: 503, Detail: "busy", Remedy: "wait"},
			reason: "an admin has to know of it",
		},
		"anything else": {
			err: errors.New("dial tcp 10.0.0.1:5432: password secret"), cause: true,
			want: Problem{Type: Internal.URI, Title: "Internal error", Status: 500, Detail: "the server has failed",
				Remedy: "report this to an admin: the server's log has the cause"},
			reason: "addresses and secrets stay in the log",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			written := Write(w, nil, c.err)
			var got Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Problem{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if w.Code != c.want.Status || w.Header().Get("Content-Type") != MediaType ||
				w.Header().Get("Retry-After") != c.header {
				t.Errorf("status %d, header %v", w.Code, w.Header())
			}
			if (written.Cause() != nil) != c.cause {
				t.Errorf("the log has %v", written.Cause())
			}
		})
	}
	if Of(nil) != nil {
		t.Error("no error is a problem")
	}
}

// busy is Describable.
type busy struct {
	status     int
	retryAfter time.Duration
}

func (busy) Error() string { return "not for the client" }
func (b busy) Problem() (status int, detail, remedy string, retryAfter time.Duration) {
	return b.status, "busy", "wait", b.retryAfter
}

// TestTransform: what huma refuses names the parameter, and no word of a library's error reaches the client.
func TestTransform(t *testing.T) {
	got, err := Transform(nil, "422", &huma.ErrorModel{
		Status: 422, Title: "Unprocessable Entity", Detail: "validation failed",
		Errors: []*huma.ErrorDetail{
			{Location: "query.limi", Message: "unknown query parameter"},
			{Location: "query.limit", Message: "expected number <= 500"}, nil,
		},
	})
	want := &Problem{
		Type: Invalid.URI, Title: "Invalid", Status: 422, Field: "query.limi", Detail: "unknown query parameter",
		Remedy: "remove limi: the path has no such parameter",
		Errors: []Error{
			{"query.limi", "unknown query parameter", "remove limi: the path has no such parameter"},
			{"query.limit", "expected number <= 500", "set limit to a valid value (docs/openapi.json)"},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Problem{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, _ = Transform(nil, "500", &huma.ErrorModel{Status: 500, Detail: "unexpected error occurred",
		Errors: []*huma.ErrorDetail{{Message: "secret"}}})
	if text, _ := json.Marshal(got); strings.Contains(string(text), "secret") {
		t.Errorf("the client receives %s", text)
	}
	if same, _ := Transform(nil, "200", 7); same != 7 {
		t.Errorf("an answer has become %v", same)
	}
}

// TestTypes: the types differ, and each has the status of an error.
func TestTypes(t *testing.T) {
	seen, last := map[string]bool{}, 0
	for _, typ := range Types() {
		if seen[typ.URI] || typ.Status < last || typ.Status < 400 || typ.Title == "" || typ.Means == "" {
			t.Errorf("%+v", typ)
		}
		seen[typ.URI], last = true, typ.Status
	}
	if p := ForStatus(418, "", ""); p.Type != "about:blank" || p.Title != "I'm a teapot" {
		t.Errorf("a status without a type is %+v", p)
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1", time.Second: "1", 1500 * time.Millisecond: "2"} {
		if got := New(NotSynced, "", "").RetryAfter(d).GetHeaders().Get("Retry-After"); got != want {
			t.Errorf("after %s: %s, want %s", d, got, want)
		}
	}
}

func TestStatusWithoutCode(t *testing.T) {
	odd := &apierrors.StatusError{ErrStatus: metav1.Status{Message: "odd", Code: 200}}
	if p := Of(odd); p.Status != http.StatusBadGateway {
		t.Errorf("an error of status 200 is %+v", p)
	}
}
