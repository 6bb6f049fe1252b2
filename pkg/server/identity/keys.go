package identity

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Paths of an API server with its issuer and its keys. The role system:service-account-issuer-discovery,
// which all service accounts have by default, grants access.
const (
	issuerPath = "/.well-known/openid-configuration"
	keysPath   = "/openid/v1/jwks"
)

// clusterKeys are the keys with which a cluster signs the tokens of its service accounts. They distinguish
// such tokens, which are worth a review, from any other text. Only the review decides.
type clusterKeys struct {
	// read reads a path of the API server; nil: no keys are known.
	read     func(ctx context.Context, path string) ([]byte, error)
	clock    clock.Clock
	verifier atomic.Pointer[oidc.IDTokenVerifier]
}

// follow reads the keys again from time to time until the context ends. If that fails, the previous ones stay
// in use.
func (k *clusterKeys) follow(ctx context.Context, log logr.Logger) {
	if k.read == nil {
		return
	}
	for {
		if err := k.refresh(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "The cluster's keys cannot be read: the server limits tokens of unknown callers by address")
		}
		if !passes(ctx, k.clock, rereadAfter) {
			return
		}
	}
}

func (k *clusterKeys) refresh(ctx context.Context) error {
	document, keys := &discoveryDocument{}, &jose.JSONWebKeySet{}
	for path, into := range map[string]any{issuerPath: document, keysPath: keys} {
		text, err := k.read(ctx, path)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return fmt.Errorf("reading %s of the API server: %w", path, err)
		}
	}
	algorithms, err := algorithmsOf(document.Algorithms)
	if err != nil {
		return err
	}
	set := &oidc.StaticKeySet{}
	for _, key := range keys.Keys {
		if key.IsPublic() && key.Valid() {
			set.PublicKeys = append(set.PublicKeys, crypto.PublicKey(key.Key))
		}
	}
	if len(set.PublicKeys) == 0 {
		return errors.New("the API server has no public key")
	}
	k.verifier.Store(oidc.NewVerifier(document.IssuerURL, set, &oidc.Config{
		SkipClientIDCheck:    true, // the caller checks the audiences
		SupportedSigningAlgs: algorithms, Now: k.clock.Now,
	}))
	return nil
}

// audiencesOf returns the audiences of a token that the cluster has signed and that is valid now, else nil.
func (k *clusterKeys) audiencesOf(ctx context.Context, token string) []string {
	verifier := k.verifier.Load()
	if verifier == nil {
		return nil
	}
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil
	}
	return verified.Audience
}
