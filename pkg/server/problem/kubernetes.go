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

// Describable is an error that says itself how a request is answered; retryAfter is 0 where it makes no sense
// to ask again before something has changed.
type Describable interface {
	error
	Problem() (status int, detail, remedy string, retryAfter time.Duration)
}

// Of makes a Problem from any error: the Problem that it wraps, what it says itself, what an API server has
// answered, the end of a context, else an internal error whose text only Cause has. Nil for nil.
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
		return Newf(TooLarge, "the body has more than the %d bytes that are taken", tooLarge.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		return New(GatewayTimeout, "the answer took too long", "send the request again").CausedBy(err)
	case errors.Is(err, context.Canceled):
		return New(Unavailable, "the request was ended, or the server ends", "send the request again").
			CausedBy(err)
	}
	return New(Internal, "the server has failed", "tell an admin: the server's log says why").CausedBy(err)
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

// ofStatus passes on what an API server has answered.
func ofStatus(err error, s metav1.Status) *Problem {
	switch {
	case apierrors.IsUnauthorized(err):
		return New(BadGateway, "the cluster does not accept the server's own credentials",
			"tell an admin: the server's kubeconfig or service account is no longer valid").CausedBy(err)
	case cannotImpersonate(err, s):
		return New(Unavailable, "the server may not act for you in this cluster",
			"tell an admin: the server lacks the right to impersonate you (docs/server.md)").CausedBy(err)
	case s.Code < 400 || s.Code > 599:
		return New(BadGateway, s.Message, "tell an admin").CausedBy(err)
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

// impersonated are the resources that the authorizer knows who may be impersonated by.
var impersonated = []string{"users", "groups", "serviceaccounts", "uids", "userextras"}

func cannotImpersonate(err error, s metav1.Status) bool {
	return apierrors.IsForbidden(err) && s.Details != nil &&
		slices.ContainsFunc(impersonated, func(kind string) bool {
			return kind == s.Details.Kind || strings.HasPrefix(s.Details.Kind, kind+"/")
		}) && strings.Contains(s.Message, "impersonate")
}

func remedyFor(err error, s metav1.Status) string {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(s.Message, " cannot "): // the authorizer's word
		return "ask an admin of the cluster for the right"
	case apierrors.IsForbidden(err):
		return "change the request as the detail says, or ask an admin of the cluster"
	case apierrors.IsAlreadyExists(err):
		return "choose another name"
	case apierrors.IsNotFound(err):
		return "look for it in the list; what is deleted is in the history"
	case apierrors.IsConflict(err):
		return "read the object again, and repeat the change on what it is now"
	case apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return "send the request again"
	case apierrors.IsRequestEntityTooLargeError(err):
		return "send less"
	}
	return "change the request as the detail says"
}

// preamble is what an API server puts before the sentence of a rule or a policy. It leaves the value out of
// what a rule of a CRD says (field.OmitValueType).
var preamble = regexp.MustCompile(
	`^ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: |` +
		`^(Invalid value|Unsupported value|Duplicate value): ` +
		`(("(?:[^"\\]|\\.)*"|-?[0-9][0-9A-Za-z.+-]*|true|false|null|\{.*?\}|\[.*?\]): )?|` +
		`^(Forbidden|Required value): `)

// strict is how an API server names a field that does not exist, or is there twice.
var strict = regexp.MustCompile(`(unknown|duplicate) field "([^"]+)"`)

// unknownFields of a request, as the API server has found them when it was asked to be strict.
func unknownFields(s metav1.Status) *Problem {
	if !strings.Contains(s.Message, "strict decoding error") {
		return nil
	}
	var all []Error
	for _, found := range strict.FindAllStringSubmatch(s.Message, -1) {
		e := Error{Field: found[2], Detail: "there is no such field",
			Remedy: "leave it out, or spell it as docs/api.md does"}
		if found[1] == "duplicate" {
			e.Detail, e.Remedy = "the field is there twice", "leave one of them out"
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil
	}
	return New(Malformed, "", "").WithErrors(all)
}

// causes in the API's own words. The rules of TrainingJobs say what is wrong and, behind a colon, what to do.
func causes(all []metav1.StatusCause) []Error {
	said := make([]Error, 0, len(all))
	for _, c := range all {
		e := Error{Field: c.Field, Detail: preamble.ReplaceAllString(c.Message, "")}
		if e.Field == "<nil>" { // of a rule about the object as a whole
			e.Field = ""
		}
		if detail, remedy, has := strings.Cut(e.Detail, ": "); has && detail != "" && remedy != "" {
			e.Detail, e.Remedy = detail, remedy
		}
		if e.Remedy == "" {
			e.Remedy = "change it as the detail says"
		}
		said = append(said, e)
	}
	return said
}
