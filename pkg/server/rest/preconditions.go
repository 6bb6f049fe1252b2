package rest

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// precondition is what a change is made to alone. What is empty is not asked for.
type precondition struct {
	uid             types.UID
	resourceVersion string
}

// parse the header If-Match.
func (in IfMatch) parse() (precondition, error) {
	tag := strings.TrimSpace(in.IfMatch)
	if tag == "" || tag == "*" { // every change needs the job to be there
		return precondition{}, nil
	}
	inner, quoted := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if !quoted || !closed || inner == "" || strings.ContainsAny(inner, `",`) {
		return precondition{}, problem.Newf(problem.Invalid, "%s is no ETag of a job", tag).
			About("header.If-Match").WithRemedy(`give one ETag, in quotes, of an earlier answer`)
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

// refused says of an API server's answer that the precondition does not hold, where that is so.
func (p precondition) refused(err error) error {
	if p.empty() || err == nil || !apierrors.IsConflict(err) && !p.otherUID(err) {
		return err
	}
	return problem.New(problem.PreconditionFailed,
		"the job is no longer the one, or the version, that If-Match names",
		"read the job again, and repeat the change if it is still wanted").About("header.If-Match")
}

// otherUID reports whether a patch was refused because it would change the UID.
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
