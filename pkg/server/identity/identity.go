package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Source is the way in which a caller has proven who it is.
type Source string

// Sources.
const (
	SourceOIDC        Source = "oidc"
	SourceTokenReview Source = "token_review"
	SourceProxy       Source = "proxy"
	// SourceLink is a link that the server has printed when it started.
	SourceLink Source = "link"
)

// Identity is who is calling. It is never changed.
type Identity struct {
	// Name of the user. That of an issuer's user has the issuer's prefix.
	Name string
	// UID of the user, where a TokenReview gave one.
	UID string
	// Groups of the user, sorted, each once. Those of an issuer have the issuer's prefix.
	Groups []string
	// Extra is what else a TokenReview said of the user.
	Extra  map[string][]string
	Source Source
	// Cluster whose API server named the user by TokenReview: in other clusters the same name may be somebody
	// else's. It is empty for other sources, whose names mean the same in every cluster.
	Cluster string
}

// Key is the same for two identities exactly when everything in them is. It is 64 characters long.
func (i Identity) Key() string {
	i.Groups = slices.Clone(i.Groups)
	slices.Sort(i.Groups)
	data, err := json.Marshal(i) // with the keys of Extra in order
	if err != nil {
		panic(err) // strings, and maps of them, always have a JSON form
	}
	return digest(data)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ServiceAccount returns the namespace and name of a service account, and whether the identity is one that a
// TokenReview has named.
func (i Identity) ServiceAccount() (namespace, name string, is bool) {
	if i.Source != SourceTokenReview {
		return "", "", false
	}
	namespace, name, err := serviceaccount.SplitUsername(i.Name)
	return namespace, name, err == nil
}

type contextKey struct{}

// NewContext returns a context that carries the identity of its request's caller.
func NewContext(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// FromContext returns the identity of the request's caller, and whether the request was authenticated.
func FromContext(ctx context.Context) (Identity, bool) {
	i, ok := ctx.Value(contextKey{}).(Identity)
	return i, ok
}
