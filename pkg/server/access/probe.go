package access

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// prober is the user that the server impersonates to test whether it can. No role is bound to this name.
const prober = "trainingjob-server:probe"

// probe lists one job as a user without rights. A response that denies the list proves that impersonation
// works. No other request detects a cluster that grants the verbs of constrained impersonation without
// implementing them.
func (c *cluster) probe(ctx context.Context) (string, error) {
	s, unknown := subjectOf(c.name, identity.Identity{Name: prober, Source: identity.SourceProxy})
	if unknown != nil {
		return "", unknown
	}
	as, _, err := c.as(s)
	if err != nil {
		return "", err
	}
	err = as.List(ctx, &v1alpha1.TrainingJobList{}, client.Limit(1))
	if apierrors.IsForbidden(err) {
		return "", nil
	}
	return denied(err)
}
