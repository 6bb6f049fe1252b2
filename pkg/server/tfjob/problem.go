package tfjob

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// Problem is why a request is refused: what RFC 9457 calls status and detail, with a field and a remedy. Type
// and title are for who writes it.
type Problem struct {
	Status int `json:"status"`
	// Detail is a clause about what is wrong.
	Detail string `json:"detail"`
	// Field of the request as the client spells it; empty where it is about none.
	Field string `json:"field,omitempty"`
	// Remedy is what the client can do about it.
	Remedy string `json:"remedy,omitempty"`
	// Errors are all that is wrong, where it is more than one thing. The first is also the Problem's own.
	Errors []tfjobadmin.Problem `json:"errors,omitempty"`
}

// Error has the detail.
func (p *Problem) Error() string {
	return tfjobadmin.Problem{Field: p.Field, Detail: p.Detail, Remedy: p.Remedy}.String()
}

// invalid is a Problem of a document. There must be at least one.
func invalid(all tfjobadmin.Problems) *Problem {
	p := &Problem{
		Status: http.StatusUnprocessableEntity, Detail: all[0].Detail, Field: all[0].Field, Remedy: all[0].Remedy,
	}
	if len(all) > 1 {
		p.Errors = all
	}
	return p
}

// fieldOf finds the field of the request that a path of the TrainingJob is made from.
type fieldOf func(jobPath string) *field.Path

// noField is for requests without a document.
func noField(string) *field.Path { return nil }

// answered is an error that knows how a request is to be answered: Access has found out by a call that it may
// not act for the caller.
type answered interface {
	error
	Status() int
}

// refused makes a Problem of what the API server has answered.
func (h *Handler) refused(k *call, err error, at fieldOf) error {
	var own answered
	if errors.As(err, &own) {
		return own
	}
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		if cause := k.Context().Err(); cause != nil {
			return &Problem{Status: http.StatusServiceUnavailable, Detail: "the request was ended: " + cause.Error(),
				Remedy: "send it again"}
		}
		return &Problem{
			Status: http.StatusBadGateway, Detail: fmt.Sprintf("cluster %s does not answer: %v", k.cluster, err),
			Remedy: "send the request again, and tell an admin if that does not help",
		}
	}
	status := api.Status()
	if seconds, is := apierrors.SuggestsClientDelay(err); is {
		k.writer.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	p := &Problem{Status: int(status.Code), Detail: status.Message, Remedy: remedyFor(k, err)}
	if p.Status < 400 || p.Status > 599 {
		p.Status = http.StatusBadGateway
	}
	if apierrors.IsAlreadyExists(err) {
		p.Field = at("metadata.name").String()
	}
	if status.Details == nil || !apierrors.IsInvalid(err) {
		return p
	}
	var all tfjobadmin.Problems
	for _, cause := range status.Details.Causes {
		all = append(all, problemOf(cause, at))
	}
	if len(all) == 0 {
		return p
	}
	return invalid(all)
}

func remedyFor(k *call, err error) string {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "): // the authorizer's word
		return "ask an admin for the right to do this to trainingjobs." +
			"mlplatform.example.com in namespace " + k.partition
	case apierrors.IsUnauthorized(err):
		return "tell an admin: the server may not act for you in this cluster"
	case apierrors.IsAlreadyExists(err):
		return "give the job another name"
	case apierrors.IsNotFound(err):
		return "use one that exists"
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return "send the request again"
	}
	return "change the request as the detail says"
}

// preamble is what the API server puts before the sentence of a rule or a policy: which policy, which kind of
// error, and the value, which it leaves out where that is large.
var preamble = regexp.MustCompile(
	`^ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: |` +
		`^(Invalid value|Unsupported value|Duplicate value|Forbidden|Required value): ` +
		`(("(\\.|[^"\\])*"|-?[0-9.]+|true|false|null|\{.*?\}|\[.*?\]): )?`)

// problemOf says a cause in the API's own words. They say what is wrong and, behind a colon, what to do.
func problemOf(cause metav1.StatusCause, at fieldOf) tfjobadmin.Problem {
	p := tfjobadmin.Problem{Remedy: "change the field as the detail says"}
	if path := at(cause.Field); path != nil {
		p.Field = path.String()
	}
	p.Detail = preamble.ReplaceAllString(cause.Message, "")
	if detail, remedy, has := strings.Cut(p.Detail, ": "); has && detail != "" && remedy != "" {
		p.Detail, p.Remedy = detail, remedy
	}
	return p
}

// problemsOf says what the project's own rules find wrong with a job.
func problemsOf(errs field.ErrorList, at fieldOf) tfjobadmin.Problems {
	var all tfjobadmin.Problems
	for _, err := range errs {
		all = append(all, problemOf(metav1.StatusCause{Field: err.Field, Message: err.ErrorBody()}, at))
	}
	return all
}
