package tfjob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// invalid is the Problem of a document. There must be at least one.
func invalid(all tfjobadmin.Problems) *problem.Problem { return listed(problem.Invalid, all) }

func listed(t problem.Type, all tfjobadmin.Problems) *problem.Problem {
	said := make([]problem.Error, len(all))
	for i, p := range all {
		said[i] = problem.Error(p)
	}
	return problem.New(t, "", "").WithErrors(said)
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

// refused makes a Problem of what the API server has answered. What it says of a field is said of the one in
// the request that the field is made from.
func (h *Handler) refused(k *call, err error, at fieldOf) error {
	var own answered
	var api apierrors.APIStatus
	switch {
	case errors.As(err, &own):
		return own
	case k.Context().Err() != nil:
		return problem.Of(k.Context().Err())
	case !errors.As(err, &api):
		return problem.New(problem.BadGateway, fmt.Sprintf("cluster %s does not answer", k.cluster),
			"send the request again, and tell an admin if that does not help").CausedBy(err)
	case apierrors.IsAlreadyExists(err):
		return problem.Of(err).About(at("metadata.name").String())
	}
	status := api.Status()
	if status.Details == nil || len(status.Details.Causes) == 0 || !apierrors.IsInvalid(err) {
		return problem.Of(err)
	}
	var all tfjobadmin.Problems
	for _, cause := range status.Details.Causes {
		all = append(all, problemOf(cause, at))
	}
	return invalid(all)
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
