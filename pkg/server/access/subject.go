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

// reserved begins the names that Kubernetes keeps for itself.
const reserved = "system:"

// subject is a caller as one cluster knows it.
type subject struct {
	identity.Identity
	serviceAccount bool
}

// subjectOf returns whom a cluster would know a caller as, or why the server does not act for it there.
func subjectOf(cluster string, id identity.Identity) (subject, *Error) {
	if id.Cluster != "" && id.Cluster != cluster {
		return subject{}, refused("use a token of cluster "+cluster+", or one of an OpenID Connect issuer, whose "+
			"users are the same in every cluster",
			"%s was named by cluster %s, and may be somebody else in cluster %s", id.Name, id.Cluster, cluster)
	}
	if namespace, _, is := id.ServiceAccount(); is {
		// What impersonation makes of it, whatever else the review said.
		id.UID, id.Extra, id.Groups = "", nil, serviceaccount.MakeGroupNames(namespace)
		return subject{Identity: id, serviceAccount: true}, nil
	}
	// Whoever is authenticated is in this group: the API server adds it to whomever it lets impersonate.
	everybody := func(group string) bool { return group == user.AllAuthenticated }
	id.Groups = slices.DeleteFunc(slices.Clone(id.Groups), everybody)
	const remedy = "use an identity of your own, such as a service account or an OpenID Connect user"
	switch group := slices.IndexFunc(id.Groups, isReserved); {
	case id.Name == "":
		return subject{}, refused(remedy, "the caller has no name")
	case isReserved(id.Name):
		return subject{}, refused(remedy, "the server acts for nobody whose name begins with %q: %s", reserved,
			id.Name)
	case group >= 0:
		return subject{}, refused(remedy, "the server acts for nobody in a group whose name begins with %q: %s is "+
			"in %s", reserved, id.Name, id.Groups[group])
	}
	return subject{Identity: id}, nil
}

func isReserved(name string) bool { return strings.HasPrefix(name, reserved) }

// impersonation is what the API server is told of the caller. Of a service account that is the name alone, as
// constrained impersonation demands; the API server knows its groups.
func (s subject) impersonation() rest.ImpersonationConfig {
	if s.serviceAccount {
		return rest.ImpersonationConfig{UserName: s.Name}
	}
	return rest.ImpersonationConfig{UserName: s.Name, UID: s.UID, Groups: s.Groups, Extra: s.Extra}
}

// review asks what the caller may do, as the API server would find it when impersonation lets it through.
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
