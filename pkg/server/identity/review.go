package identity

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// tokenReviewer verifies tokens with the API server of one cluster.
type tokenReviewer struct {
	reviews   authenticationclient.TokenReviewInterface
	cluster   string
	audiences []string
	keys      clusterKeys
	flight    singleflight.Group
	slots     chan struct{}
}

func newTokenReviewer(o Options) *tokenReviewer {
	return &tokenReviewer{
		reviews: o.Reviews, cluster: o.ReviewCluster, audiences: o.Config.TokenReview.Audiences,
		keys: clusterKeys{read: o.ReadReviewCluster, clock: o.Clock}, slots: make(chan struct{}, maxReviews),
	}
}

// signed reports whether the cluster has certainly signed a token for this server, and it has not expired. It
// can still be revoked.
func (t *tokenReviewer) signed(ctx context.Context, token string) bool {
	return slices.ContainsFunc(t.keys.audiencesOf(ctx, token), func(audience string) bool {
		return slices.Contains(t.audiences, audience)
	})
}

// reviewed is the result of a review.
type reviewed struct {
	id       Identity
	answered bool
	err      *Error
}

// review verifies a token with the API server; answered is false if that fails. Concurrent requests with the
// same token share one review, which continues if the first of them is canceled.
func (t *tokenReviewer) review(
	ctx context.Context, token string, key [sha256.Size]byte,
) (id Identity, answered bool, err *Error) {
	shared := t.flight.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		return t.ask(ctx, token), nil
	})
	select {
	case got := <-shared:
		r := got.Val.(reviewed)
		return r.id, r.answered, r.err
	case <-ctx.Done():
		return Identity{}, false, unavailable("send the request again", "the request has ended")
	}
}

func (t *tokenReviewer) ask(ctx context.Context, token string) reviewed {
	silent := reviewed{err: unavailable("send the request again",
		"the API server of cluster %s does not review the token", t.cluster)}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return silent
	}
	review, err := t.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		silent.err.Detail = "the server lacks the right to create tokenreviews"
		silent.err.Remedy = "ask an admin to apply deploy/server/rbac.yaml"
		return silent
	case err != nil:
		return silent // without the error, which can contain the token
	}
	id, problem := t.read(&review.Status)
	return reviewed{id: id, answered: true, err: problem}
}

// read returns the result of a review. An authenticator that does not support audiences returns none and has
// not checked ours, so the token is rejected.
func (t *tokenReviewer) read(s *authenticationv1.TokenReviewStatus) (Identity, *Error) {
	remedy := "send a token of the cluster with the audience " + strings.Join(t.audiences, " or ") +
		", such as that of kubectl create token <service account> --audience " + t.audiences[0]
	ours := func(audience string) bool { return slices.Contains(t.audiences, audience) }
	switch {
	case !s.Authenticated:
		return Identity{}, rejected(remedy, "no configured issuer has issued the token for this server, "+
			"or it has expired")
	case !slices.ContainsFunc(s.Audiences, ours):
		return Identity{}, rejected(remedy, "the token is not for this server")
	}
	id := Identity{
		Name: s.User.Username, UID: s.User.UID, Groups: inOrder(s.User.Groups), Source: SourceTokenReview,
		Cluster: t.cluster,
	}
	if len(s.User.Extra) > 0 {
		id.Extra = map[string][]string{}
		for key, values := range s.User.Extra {
			id.Extra[key] = values
		}
	}
	problem := nameProblem(id.Name)
	if problem == "" {
		problem = groupsProblem(id.Groups, nameProblem)
	}
	if problem != "" {
		return Identity{}, rejected("ask an admin of the cluster", "the token's user %s", problem)
	}
	return id, nil
}
