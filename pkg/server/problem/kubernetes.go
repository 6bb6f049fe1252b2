package problem

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Describable is an error with its own response; retryAfter is 0 if a retry is useless until something
// changes.
type Describable interface {
	error
	Problem() (status int, detail, remedy string, retryAfter time.Duration)
}

// Of converts an error: a wrapped Problem, a Describable, an error of an API server, a canceled context, else
// an internal error whose text only Cause has. Nil for nil.
func Of(err error) *Problem {
	var p *Problem
	var own Describable
	var api apierrors.APIStatus
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.As(err, &own):
		return described(own)
	case errors.As(err, &api):
		return ofStatus(err, api.Status())
	case errors.As(err, &tooLarge):
		return Newf(TooLarge, "the body has more than %d bytes", tooLarge.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		return New(GatewayTimeout, "the response took too long", "send the request again").CausedBy(err)
	case errors.Is(err, context.Canceled):
		return New(Unavailable, "the request was canceled, or the server is stopping",
			"send the request again").
			CausedBy(err)
	}
	return New(Internal, "the server has failed",
		"report this to an admin: the server's log has the cause").CausedBy(err)
}

func described(err Describable) *Problem {
	status, detail, remedy, retryAfter := err.Problem()
	p := ForStatus(status, detail, remedy)
	if retryAfter > 0 {
		p.RetryAfter(retryAfter)
	}
	if status >= http.StatusInternalServerError {
		p.CausedBy(err)
	}
	return p
}

// ofStatus converts the error of an API server.
func ofStatus(err error, s metav1.Status) *Problem {
	switch {
	case apierrors.IsUnauthorized(err):
		return New(BadGateway, "the cluster does not accept the server's own credentials",
			"report this to an admin: the server's kubeconfig or service account is no longer "+
				"valid").CausedBy(err)
	case cannotImpersonate(err, s):
		return New(Unavailable, "the server has no right to act for you in this cluster",
			"ask an admin to grant the server the right to impersonate you (docs/server.md)").CausedBy(err)
	case s.Code < 400 || s.Code > 599:
		return New(BadGateway, s.Message, "report this to an admin").CausedBy(err)
	}
	if p := unknownFields(s); p != nil {
		return p
	}
	p := ForStatus(int(s.Code), s.Message, remedyFor(err, s))
	switch {
	case apierrors.IsAlreadyExists(err):
		p.Type, p.Title = AlreadyExists.URI, AlreadyExists.Title
	case apierrors.IsInternalError(err):
		p.CausedBy(err)
	}
	if seconds, is := apierrors.SuggestsClientDelay(err); is {
		p.RetryAfter(time.Duration(seconds) * time.Second)
	}
	if !apierrors.IsInvalid(err) || s.Details == nil || len(s.Details.Causes) == 0 {
		return p
	}
	p.Detail, p.Remedy = "", ""
	return p.WithErrors(causes(s.Details.Causes))
}

// impersonated are the resources of impersonation in the authorizer.
var impersonated = []string{"users", "groups", "serviceaccounts", "uids", "userextras"}

func cannotImpersonate(err error, s metav1.Status) bool {
	return apierrors.IsForbidden(err) && s.Details != nil &&
		slices.ContainsFunc(impersonated, func(kind string) bool {
			return kind == s.Details.Kind || strings.HasPrefix(s.Details.Kind, kind+"/")
		}) && strings.Contains(s.Message, "impersonate")
}

func remedyFor(err error, s metav1.Status) string {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(s.Message, " cannot "): // denied by the authorizer
		return "ask an admin of the cluster for the right"
	case apierrors.IsForbidden(err):
		return "correct the request as described, or ask an admin of the cluster"
	case apierrors.IsAlreadyExists(err):
		return "choose another name"
	case apierrors.IsNotFound(err):
		return "look for it in the list; deleted jobs are in the history"
	case apierrors.IsConflict(err):
		return "read the object again, and repeat the change"
	case apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return "send the request again"
	case apierrors.IsRequestEntityTooLargeError(err):
		return "send less"
	}
	return "correct the request as described"
}

// preamble is what an API server puts before the message of a rule or a policy. For rules of a CRD it omits
// the value (field.OmitValueType).
var preamble = regexp.MustCompile(
	`^ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: |` +
		`^(Invalid value|Unsupported value|Duplicate value): ` +
		`(("(?:[^"\\]|\\.)*"|-?[0-9][0-9A-Za-z.+-]*|true|false|null|\{.*?\}|\[.*?\]): )?|` +
		`^(Forbidden|Required value): `)

// strict matches unknown and duplicate fields in errors of strict decoding.
var strict = regexp.MustCompile(`(unknown|duplicate) field "([^"]+)"`)

// unknownFields returns a Problem for an error of strict decoding, else nil.
func unknownFields(s metav1.Status) *Problem {
	if !strings.Contains(s.Message, "strict decoding error") {
		return nil
	}
	var all []Error
	for _, found := range strict.FindAllStringSubmatch(s.Message, -1) {
		e := Error{Field: found[2], Detail: "unknown field",
			Remedy: "remove it, or correct its name (docs/api.md)"}
		if found[1] == "duplicate" {
			e.Detail, e.Remedy = "duplicate field", "remove one of them"
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil
	}
	return New(Malformed, "", "").WithErrors(all)
}

// causes of a Status. Messages of the rules of TrainingJobs have the remedy after a colon.
func causes(all []metav1.StatusCause) []Error {
	found := make([]Error, 0, len(all))
	for _, c := range all {
		e := Error{Field: c.Field, Detail: preamble.ReplaceAllString(c.Message, "")}
		if e.Field == "<nil>" { // a rule about the entire object
			e.Field = ""
		}
		if detail, remedy, has := strings.Cut(e.Detail, ": "); has && detail != "" && remedy != "" {
			e.Detail, e.Remedy = detail, remedy
		}
		if e.Remedy == "" {
			e.Remedy = "correct it as described"
		}
		found = append(found, e)
	}
	return found
}
