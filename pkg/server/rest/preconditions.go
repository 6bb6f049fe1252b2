package rest

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// precondition of a change. Empty fields are not checked.
type precondition struct {
	uid             types.UID
	resourceVersion string
}

// parse the header If-Match.
func (in IfMatch) parse() (precondition, error) {
	tag := strings.TrimSpace(in.IfMatch)
	if tag == "" || tag == "*" { // every change requires the job to exist
		return precondition{}, nil
	}
	inner, quoted := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if !quoted || !closed || inner == "" || strings.ContainsAny(inner, `",`) {
		return precondition{}, problem.Newf(problem.Invalid, "%s is not an ETag of a job", tag).
			About("header.If-Match").WithRemedy(`set one ETag, in quotes, of an earlier response`)
	}
	uid, version, both := strings.Cut(inner, "/")
	switch {
	case both:
		return precondition{types.UID(uid), version}, nil
	case strings.Trim(inner, "0123456789") == "":
		return precondition{resourceVersion: inner}, nil
	}
	return precondition{uid: types.UID(inner)}, nil
}

func (p precondition) empty() bool { return p == precondition{} }

// refused converts an API server's error to PreconditionFailed if the precondition does not hold.
func (p precondition) refused(err error) error {
	if p.empty() || err == nil || !apierrors.IsConflict(err) && !p.otherUID(err) {
		return err
	}
	return problem.New(problem.PreconditionFailed,
		"the job or its version differs from If-Match",
		"read the job again, and repeat the change if it still applies").About("header.If-Match")
}

// otherUID reports whether a patch was rejected because it would change the UID.
func (p precondition) otherUID(err error) bool {
	status, is := err.(apierrors.APIStatus)
	if p.uid == "" || !is || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, causeOf("metadata.uid"))
}

func causeOf(field string) func(metav1.StatusCause) bool {
	return func(c metav1.StatusCause) bool { return c.Field == field }
}
