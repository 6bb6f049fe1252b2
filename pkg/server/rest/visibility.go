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
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// Verbs that the cluster is asked about.
const (
	verbGet  = "get"
	verbList = "list"
)

// retrySync is when to ask again for jobs that are still being read.
const retrySync = 5 * time.Second

// known reports an error for a cluster that is not configured.
func (s *Server) known(cluster string) error {
	if slices.Contains(s.Access.Names(), cluster) {
		return nil
	}
	return problem.Newf(problem.NotFound, "there is no cluster %s", cluster).About("path.cluster").
		WithRemedy("use one of those that GET /api/v1/clusters lists")
}

// caller of a request.
func caller(ctx context.Context) (identity.Identity, error) {
	id, known := identity.FromContext(ctx)
	if !known {
		return id, problem.New(problem.Unauthenticated, "the request does not say who is calling", "send a token")
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

// may reports whether the caller may do something.
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

// clusterError says of an error that no API server has answered with that the cluster is away.
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
		WithRemedy("send the request again, and tell an admin if that does not help").
		RetryAfter(retrySync).CausedBy(err)
}

// view of the jobs of a cluster.
func (s *Server) view(cluster string) (live.View, error) {
	if err := s.known(cluster); err != nil {
		return live.View{}, err
	}
	v, err := s.Live.View(cluster)
	return v, liveError(cluster, err)
}

func liveError(cluster string, err error) error {
	if errors.Is(err, live.ErrNotSynced) {
		return problem.Newf(problem.NotSynced, "the jobs of cluster %s have not been read yet", cluster).
			WithRemedy("ask again; where that lasts, the cluster is away: tell an admin").RetryAfter(retrySync)
	}
	return err
}

// namespaces of some in which the caller may list jobs; all where that holds for every namespace there is.
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

// visible returns which of some namespaces have jobs that the caller may list.
func (s *Server) visible(ctx context.Context, cluster string, among []string) (
	func(namespace string) bool, error,
) {
	all, some, err := s.namespaces(ctx, cluster, among)
	if err != nil {
		return nil, err
	}
	return func(namespace string) bool { return all || slices.Contains(some, namespace) }, nil
}

// listable reports an error, the cluster's own, where the caller may not list the jobs of a namespace.
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
	return clusterError(cluster, err) // nil where the right was given just now
}
