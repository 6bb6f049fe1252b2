package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

const (
	// reviewsFresh is how long a review is cached: a revoked right takes effect in May and Visible after this
	// time.
	reviewsFresh = 5 * time.Second
	maxReviews   = 50_000
	// maxAsked is the number of concurrent reviews in one cluster, and atOnce that of one request.
	maxAsked      = 32
	atOnce        = 16
	reviewTimeout = 10 * time.Second
	// maxNamespaces are reviewed for one request.
	maxNamespaces = 1000
)

// Resource of TrainingJobs in RBAC rules.
const resourceTrainingJobs = "trainingjobs"

// May reports whether a caller has a right, according to a review that is at most a few seconds old. The
// error is why it could not be reviewed.
func (c *Clusters) May(
	ctx context.Context, cluster string, id identity.Identity, do authorizationv1.ResourceAttributes,
) (bool, error) {
	at, s, err := c.find(cluster, id)
	if err != nil {
		return false, err
	}
	return at.reviews.may(ctx, s, s.Key(), do)
}

// Visible returns the given namespaces, in their order, in which a caller has a right to all TrainingJobs.
// The verb is "list" for what kubectl get shows. all is true if the caller has the right in every namespace.
// If not, and there are more than maxNamespaces, the error is ErrTooMany.
func (c *Clusters) Visible(
	ctx context.Context, cluster string, id identity.Identity, verb string, namespaces []string,
) (all bool, visible []string, err error) {
	at, s, err := c.find(cluster, id)
	if err != nil {
		return false, nil, err
	}
	key, jobs := s.Key(), authorizationv1.ResourceAttributes{
		Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resourceTrainingJobs,
	}
	if all, err = at.reviews.may(ctx, s, key, jobs); all || err != nil {
		return all, nil, err
	}
	if len(namespaces) > maxNamespaces {
		return false, nil, &Error{
			kind: ErrTooMany,
			Detail: fmt.Sprintf("you may not %s TrainingJobs in all namespaces at once, and the server reviews your "+
				"rights in at most %d namespaces for one request; this one concerns %d", verb, maxNamespaces,
				len(namespaces)),
			Remedy: "request one namespace, or ask an admin for the right in all namespaces",
		}
	}
	may := make([]bool, len(namespaces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for n, namespace := range namespaces {
		group.Go(func() (err error) {
			in := jobs
			in.Namespace = namespace
			may[n], err = at.reviews.may(ctx, s, key, in)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, nil, err
	}
	for n, namespace := range namespaces {
		if may[n] {
			visible = append(visible, namespace)
		}
	}
	return false, visible, nil
}

// reviews requests reviews of callers' rights from one cluster, and caches them.
type reviews struct {
	cluster string
	ask     authorizationclient.SubjectAccessReviewInterface
	answers *cache.LRUExpireCache
	flight  singleflight.Group
	slots   chan struct{}
	metrics *metrics
}

func newReviews(
	cluster string, ask authorizationclient.SubjectAccessReviewInterface, c clock.PassiveClock, m *metrics,
) *reviews {
	return &reviews{
		cluster: cluster, ask: ask, slots: make(chan struct{}, maxAsked), metrics: m,
		answers: cache.NewLRUExpireCacheWithClock(maxReviews, c),
	}
}

// may reviews a right of a caller; its key is a parameter because it is expensive to compute. Concurrent
// equal reviews share one request, which continues if the first caller is canceled.
func (r *reviews) may(
	ctx context.Context, s subject, caller string, do authorizationv1.ResourceAttributes,
) (bool, error) {
	question, err := json.Marshal(do)
	if err != nil {
		return false, fmt.Errorf("encoding a review: %w", err)
	}
	key := sha256.Sum256(append([]byte(caller), question...))
	if known, ok := r.answers.Get(key); ok {
		r.metrics.reviews.WithLabelValues(r.cluster, "cached").Inc()
		return known.(bool), nil
	}
	shared := r.flight.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		allowed, err := r.review(ctx, s, do)
		if err == nil {
			r.answers.Add(key, allowed, reviewsFresh)
		}
		return allowed, err
	})
	select {
	case got := <-shared:
		return got.Val.(bool), got.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (r *reviews) review(
	ctx context.Context, s subject, do authorizationv1.ResourceAttributes,
) (allowed bool, err error) {
	defer func() {
		result := "failed"
		switch {
		case err == nil && allowed:
			result = "allowed"
		case err == nil:
			result = "denied"
		}
		r.metrics.reviews.WithLabelValues(r.cluster, result).Inc()
	}()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	answer, err := r.ask.Create(ctx, s.review(do), metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return false, insufficient("ask an admin to apply deploy/server/rbac.yaml",
			"the server lacks the right to create subjectaccessreviews")
	case err != nil:
		return false, fmt.Errorf("reviewing the rights of a caller in cluster %s: %w", r.cluster, err)
	}
	// EvaluationError alone allows nothing, as for kubectl.
	return answer.Status.Allowed, nil
}
