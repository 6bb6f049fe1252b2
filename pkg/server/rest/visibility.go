package rest

import (
	"context"
	"errors"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Verbs of reviews.
const (
	verbGet  = "get"
	verbList = "list"
)

// retrySync is when to retry while the jobs are being listed.
const retrySync = 5 * time.Second

// known returns an error for a cluster that is not configured.
func (s *Server) known(cluster string) error {
	if slices.Contains(s.Access.Names(), cluster) {
		return nil
	}
	return problem.Newf(problem.NotFound, "unknown cluster %s", cluster).About("path.cluster").
		WithRemedy("use a cluster that GET /api/v1/clusters lists")
}

// caller of a request.
func caller(ctx context.Context) (identity.Identity, error) {
	id, known := identity.FromContext(ctx)
	if !known {
		return id, problem.New(problem.Unauthenticated, "the request has no credentials", "send a token")
	}
	return id, nil
}

// as returns a client that acts as the caller.
func (s *Server) as(ctx context.Context, cluster string) (client.WithWatch, *rest.Config, error) {
	if err := s.known(cluster); err != nil {
		return nil, nil, err
	}
	id, err := caller(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, config, err := s.Access.As(cluster, id)
	if err != nil {
		return nil, nil, clusterError(cluster, err)
	}
	return c, config, nil
}

// may reports whether the caller has a right.
func (s *Server) may(
	ctx context.Context, cluster string, do authorizationv1.ResourceAttributes,
) (bool, error) {
	id, err := caller(ctx)
	if err != nil {
		return false, err
	}
	may, err := s.Access.May(ctx, cluster, id, do)
	return may, clusterError(cluster, err)
}

// clusterError returns that the cluster is unavailable, unless the error is from its API server.
func clusterError(cluster string, err error) error {
	var p *problem.Problem
	var api apierrors.APIStatus
	var own problem.Describable
	switch {
	case err == nil, errors.As(err, &p), errors.As(err, &own), errors.As(err, &api),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case meta.IsNoMatchError(err):
		return problem.Newf(problem.Unavailable, "cluster %s does not have TrainingJobs", cluster).
			WithRemedy("ask an admin to install deploy/crd there").CausedBy(err)
	}
	return problem.Newf(problem.BadGateway, "cluster %s cannot be reached", cluster).
		WithRemedy("send the request again, and report it to an admin if it persists").
		RetryAfter(retrySync).CausedBy(err)
}

// view returns the jobs of a cluster.
func (s *Server) view(cluster string) (live.View, error) {
	if err := s.known(cluster); err != nil {
		return live.View{}, err
	}
	v, err := s.Live.View(cluster)
	return v, liveError(cluster, err)
}

func liveError(cluster string, err error) error {
	if errors.Is(err, live.ErrNotSynced) {
		return problem.Newf(problem.NotSynced, "the jobs of cluster %s are not listed yet", cluster).
			WithRemedy("retry; if it persists, report to an admin that the cluster is " +
				"unavailable").RetryAfter(retrySync)
	}
	return err
}

// namespaces returns those in which the caller may list jobs; all is true for every namespace.
func (s *Server) namespaces(ctx context.Context, cluster string, among []string) (
	all bool, visible []string, err error,
) {
	id, err := caller(ctx)
	if err != nil {
		return false, nil, err
	}
	all, visible, err = s.Access.Visible(ctx, cluster, id, verbList, among)
	return all, visible, clusterError(cluster, err)
}

// visible returns a function that reports whether the caller may list the jobs of one of the namespaces.
func (s *Server) visible(ctx context.Context, cluster string, among []string) (
	func(namespace string) bool, error,
) {
	all, some, err := s.namespaces(ctx, cluster, among)
	if err != nil {
		return nil, err
	}
	visible := make(map[string]bool, len(some))
	for _, namespace := range some {
		visible[namespace] = true
	}
	return func(namespace string) bool { return all || visible[namespace] }, nil
}

// TooManyNamespaces reports whether a request failed because it concerns too many namespaces. Then it can
// succeed for one namespace.
func TooManyNamespaces(err error) bool { return errors.Is(err, access.ErrTooMany) }

// listable returns the cluster's error if the caller may not list the jobs of a namespace.
func (s *Server) listable(ctx context.Context, cluster, namespace string) error {
	may, err := s.visible(ctx, cluster, []string{namespace})
	if err != nil || may(namespace) {
		return err
	}
	c, _, err := s.as(ctx, cluster)
	if err != nil {
		return err
	}
	var none v1alpha1.TrainingJobList
	err = c.List(ctx, &none, client.InNamespace(namespace), client.Limit(1))
	return clusterError(cluster, err) // nil if the right was granted just now
}
