package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	// rightsFresh is how often the server reads its own rights.
	rightsFresh  = time.Minute
	rightsWithin = 15 * time.Second
)

// Verbs of impersonation, as in k8s.io/apiserver/pkg/endpoints/filters/impersonation. "On" verbs name the
// action that is allowed while impersonating.
const (
	verbWide             = "impersonate"
	verbUser             = "impersonate:user-info"
	verbServiceAccount   = "impersonate:serviceaccount"
	verbOnUser           = "impersonate-on:user-info:"
	verbOnServiceAccount = "impersonate-on:serviceaccount:"
)

// rights are the server's own in one cluster.
type rights struct {
	// wide is Config.WideImpersonation.
	wide    bool
	reviews authorizationclient.SelfSubjectAccessReviewInterface
	// probe acts as a user without rights. It returns "" if the API server accepts that, else its message.
	probe  func(context.Context) (string, error)
	acting prometheus.Gauge

	mu sync.Mutex
	// known is false until the cluster has responded once.
	known bool
	// problem is why no caller can act, and accounts why no service account can.
	problem, accounts *Error
}

// allow returns why a caller cannot act, or nil. The error is an *Error.
func (r *rights) allow(s subject) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.known:
		return insufficient("retry in a moment; if the error persists, an admin finds the reason in the "+
			"server's log",
			"the server does not know its rights in this cluster yet")
	case r.problem != nil:
		return r.problem
	case s.serviceAccount && r.accounts != nil:
		return r.accounts
	}
	return nil
}

// follow reads the rights until the context ends. The last result stays in use while the cluster does not
// respond.
func (r *rights) follow(ctx context.Context, c clock.Clock, log logr.Logger) {
	for {
		if err := r.look(ctx, log); err != nil && ctx.Err() == nil {
			log.Error(err, "The server's rights cannot be read")
		}
		timer := c.NewTimer(rightsFresh)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// look reads the rights once.
func (r *rights) look(ctx context.Context, log logr.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, rightsWithin)
	defer cancel()
	problem, err := r.find(ctx)
	if err != nil {
		return err
	}
	accounts, err := r.findAccounts(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if changed := !r.known || text(problem) != text(r.problem); changed && problem != nil {
		log.Info("The server does not act for any caller", "reason", problem.Detail, "remedy", problem.Remedy)
	} else if changed {
		log.Info("The server acts for its callers", "serviceAccounts", accounts == nil)
	}
	r.known, r.problem, r.accounts = true, problem, accounts
	r.acting.Set(0)
	if problem == nil {
		r.acting.Set(1)
	}
	return nil
}

func text(e *Error) string {
	if e == nil {
		return ""
	}
	return e.Error()
}

// find returns why no caller can act.
func (r *rights) find(ctx context.Context) (*Error, error) {
	wide, err := r.has(ctx, wideRights())
	if err != nil {
		return nil, err
	}
	if len(wide) > 0 && !r.wide {
		return insufficient("revoke the right "+verbWide+" of the server's account, or set "+
			"access.wideImpersonation if it is intended",
			"the server has the unconstrained right to impersonate (%s), "+
				"which its configuration does not allow", strings.Join(wide, ", ")), nil
	}
	if len(wide) == 0 {
		needed := append(resourceRights(verbUser, authenticationv1.GroupName, "users"),
			jobRights(verbOnUser, "get", "list", "watch")...)
		missing, err := r.lacks(ctx, needed)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return insufficient("apply deploy/server/rbac.yaml", "the server lacks rights to act for its callers: %s",
				strings.Join(missing, ", ")), nil
		}
	}
	denied, err := r.probe(ctx)
	if err != nil || denied == "" {
		return nil, err
	}
	return insufficient("use Kubernetes 1.36 or later with the feature ConstrainedImpersonation, or apply "+
		"deploy/server/rbac_wide.yaml and set access.wideImpersonation", "the cluster rejects impersonation "+
		"with the server's rights: %s", denied), nil
}

// findAccounts returns why no service account can act.
func (r *rights) findAccounts(ctx context.Context) (*Error, error) {
	needed := append(resourceRights(verbServiceAccount, authenticationv1.GroupName, "serviceaccounts"),
		jobRights(verbOnServiceAccount, "get", "list", "watch")...)
	missing, err := r.lacks(ctx, needed)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return insufficient("bind the ClusterRole trainingjob-server-service-accounts of deploy/server/rbac.yaml "+
		"to the server's account, or use a token of an OpenID Connect issuer",
		"the server lacks rights to act for service accounts: %s", strings.Join(missing, ", ")), nil
}
func resourceRights(verb, group string, resources ...string) []authorizationv1.ResourceAttributes {
	all := make([]authorizationv1.ResourceAttributes, 0, len(resources))
	for _, resource := range resources {
		all = append(all, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource})
	}
	return all
}

// jobRights are the rights without which no user could read a job. If the server lacks others on purpose,
// such as delete, requests that need them fail with ErrInsufficient.
func jobRights(on string, verbs ...string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, verb := range verbs {
		all = append(all, resourceRights(on+verb, v1alpha1.GroupVersion.Group, resourceTrainingJobs)...)
	}
	return all
}

// wideRights would let the server do everything that any user can do.
func wideRights() []authorizationv1.ResourceAttributes {
	return resourceRights(verbWide, "", "users", "groups", "serviceaccounts")
}

// has returns the rights that the server has.
func (r *rights) has(ctx context.Context, all []authorizationv1.ResourceAttributes) ([]string, error) {
	has, _, err := r.split(ctx, all)
	return has, err
}

// lacks returns the rights that the server lacks.
func (r *rights) lacks(ctx context.Context, all []authorizationv1.ResourceAttributes) ([]string, error) {
	_, lacks, err := r.split(ctx, all)
	return lacks, err
}

func (r *rights) split(
	ctx context.Context, all []authorizationv1.ResourceAttributes,
) (has, lacks []string, err error) {
	for _, right := range all {
		review, err := r.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, nil, fmt.Errorf("reviewing the right to %s: %w", name(right), err)
		}
		if review.Status.Allowed {
			has = append(has, name(right))
		} else {
			lacks = append(lacks, name(right))
		}
	}
	return has, lacks, nil
}

// name of a right, for messages.
func name(right authorizationv1.ResourceAttributes) string {
	if right.Group == "" {
		return right.Verb + " " + right.Resource
	}
	return right.Verb + " " + right.Resource + "." + right.Group
}

// denied returns the detail of an *Error among err's causes, or "" and err.
func denied(err error) (string, error) {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own.Detail, nil
	}
	return "", err
}
