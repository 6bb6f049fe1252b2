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

// invalid returns the Problem of a document with at least one error.
func invalid(all tfjobadmin.Problems) *problem.Problem { return listed(problem.Invalid, all) }

func listed(t problem.Type, all tfjobadmin.Problems) *problem.Problem {
	errs := make([]problem.Error, len(all))
	for i, p := range all {
		errs[i] = problem.Error(p)
	}
	return problem.New(t, "", "").WithErrors(errs)
}

// fieldOf returns the field of the request for a path of the TrainingJob.
type fieldOf func(jobPath string) *field.Path

// noField is for requests without a document.
func noField(string) *field.Path { return nil }

// answered is an error with its own response: Access has found by a call that the server lacks the right to
// act for the caller.
type answered interface {
	error
	Status() int
}

// refused returns the Problem of an API server's error, with the fields of the request instead of those of
// the job.
func (h *Handler) refused(k *call, err error, at fieldOf) error {
	var own answered
	var api apierrors.APIStatus
	switch {
	case errors.As(err, &own):
		return own
	case k.Context().Err() != nil:
		return problem.Of(k.Context().Err())
	case !errors.As(err, &api):
		return problem.New(problem.BadGateway, fmt.Sprintf("cluster %s does not respond", k.cluster),
			"send the request again, and report it to an admin if it persists").CausedBy(err)
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

// preamble is what an API server puts before the message of a rule or a policy: the policy, the kind of
// error, and the value unless it is large.
var preamble = regexp.MustCompile(
	`^ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: |` +
		`^(Invalid value|Unsupported value|Duplicate value|Forbidden|Required value): ` +
		`(("(\\.|[^"\\])*"|-?[0-9.]+|true|false|null|\{.*?\}|\[.*?\]): )?`)

// problemOf returns a cause in the API's own words, with the remedy after a colon.
func problemOf(cause metav1.StatusCause, at fieldOf) tfjobadmin.Problem {
	p := tfjobadmin.Problem{Remedy: "correct the field as described"}
	if path := at(cause.Field); path != nil {
		p.Field = path.String()
	}
	p.Detail = preamble.ReplaceAllString(cause.Message, "")
	if detail, remedy, has := strings.Cut(p.Detail, ": "); has && detail != "" && remedy != "" {
		p.Detail, p.Remedy = detail, remedy
	}
	return p
}

// problemsOf returns the errors of the project's own rules.
func problemsOf(errs field.ErrorList, at fieldOf) tfjobadmin.Problems {
	var all tfjobadmin.Problems
	for _, err := range errs {
		all = append(all, problemOf(metav1.StatusCause{Field: err.Field, Message: err.ErrorBody()}, at))
	}
	return all
}
