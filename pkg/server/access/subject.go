package access

import (
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// reserved is the prefix of names that Kubernetes reserves.
const reserved = "system:"

// subject is a caller in one cluster.
type subject struct {
	identity.Identity
	serviceAccount bool
}

// subjectOf returns a caller's subject in a cluster, or why the server does not act for it there.
func subjectOf(cluster string, id identity.Identity) (subject, *Error) {
	if id.Cluster != "" && id.Cluster != cluster {
		return subject{}, refused("use a token of cluster "+cluster+", or one of an OpenID Connect issuer, whose "+
			"users are the same in every cluster",
			"cluster %s authenticated %s, which can be another user in cluster %s", id.Cluster, id.Name,
			cluster)
	}
	if namespace, _, is := id.ServiceAccount(); is {
		// Impersonation sets these, whatever the review returned.
		id.UID, id.Extra, id.Groups = "", nil, serviceaccount.MakeGroupNames(namespace)
		return subject{Identity: id, serviceAccount: true}, nil
	}
	// The API server adds this group to every user that it impersonates.
	everybody := func(group string) bool { return group == user.AllAuthenticated }
	id.Groups = slices.DeleteFunc(slices.Clone(id.Groups), everybody)
	const remedy = "use an identity of your own, such as a service account or an OpenID Connect user"
	switch group := slices.IndexFunc(id.Groups, isReserved); {
	case id.Name == "":
		return subject{}, refused(remedy, "the caller has no name")
	case isReserved(id.Name):
		return subject{}, refused(remedy, "the server does not act for users whose name begins with %q: %s",
			reserved,
			id.Name)
	case group >= 0:
		return subject{}, refused(remedy,
			"the server does not act for members of groups that begin with %q: %s is "+
				"in %s", reserved, id.Name, id.Groups[group])
	}
	return subject{Identity: id}, nil
}

func isReserved(name string) bool { return strings.HasPrefix(name, reserved) }

// impersonation returns the impersonation headers. For a service account they have only the name, as
// constrained impersonation requires; the API server adds its groups.
func (s subject) impersonation() rest.ImpersonationConfig {
	if s.serviceAccount {
		return rest.ImpersonationConfig{UserName: s.Name}
	}
	return rest.ImpersonationConfig{UserName: s.Name, UID: s.UID, Groups: s.Groups, Extra: s.Extra}
}

// review returns the review of a caller's right, with the attributes that impersonation produces.
func (s subject) review(a authorizationv1.ResourceAttributes) *authorizationv1.SubjectAccessReview {
	spec := authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &a, User: s.Name, UID: s.UID,
		Groups: slices.Clone(s.Groups),
	}
	if !slices.Contains(spec.Groups, user.AllAuthenticated) {
		spec.Groups = append(spec.Groups, user.AllAuthenticated)
	}
	for key, values := range s.Extra {
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[key] = values
	}
	return &authorizationv1.SubjectAccessReview{Spec: spec}
}
