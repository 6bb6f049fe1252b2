package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Source is the method of authentication.
type Source string

// Sources.
const (
	SourceOIDC        Source = "oidc"
	SourceTokenReview Source = "token_review"
	SourceProxy       Source = "proxy"
	// SourceLink is the one-time link that the server writes when it starts.
	SourceLink Source = "link"
)

// Identity is an authenticated caller. It is immutable.
type Identity struct {
	// Name of the user, with the prefix of its issuer.
	Name string
	// UID of the user, from a TokenReview.
	UID string
	// Groups of the user, sorted and unique, with the prefix of the issuer.
	Groups []string
	// Extra attributes of the user, from a TokenReview.
	Extra  map[string][]string
	Source Source
	// Cluster whose TokenReview named the user: the same name can be another user in another cluster. Empty
	// for sources whose names mean the same in every cluster.
	Cluster string
}

// Key returns 64 characters that are equal exactly for equal identities.
func (i Identity) Key() string {
	i.Groups = slices.Clone(i.Groups)
	slices.Sort(i.Groups)
	data, err := json.Marshal(i) // sorts the keys of Extra
	if err != nil {
		panic(err) // strings and maps of strings always encode
	}
	return digest(data)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ServiceAccount returns the namespace and name of a service account that a TokenReview has named.
func (i Identity) ServiceAccount() (namespace, name string, is bool) {
	if i.Source != SourceTokenReview {
		return "", "", false
	}
	namespace, name, err := serviceaccount.SplitUsername(i.Name)
	return namespace, name, err == nil
}

type contextKey struct{}

// NewContext returns a context with the identity of the caller.
func NewContext(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// FromContext returns the identity of the caller, and whether the request was authenticated.
func FromContext(ctx context.Context) (Identity, bool) {
	i, ok := ctx.Value(contextKey{}).(Identity)
	return i, ok
}
