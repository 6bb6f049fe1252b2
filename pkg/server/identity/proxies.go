package identity

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Headers in which a proxy names the caller.
const (
	headerUser   = "X-User"
	headerGroups = "X-Groups"
)

// proxies are trusted to name the caller.
type proxies struct {
	Proxies
	clock clock.Clock
	roots atomic.Pointer[x509.CertPool]
}

func newProxies(c Proxies, now clock.Clock) (*proxies, error) {
	p := &proxies{Proxies: c, clock: now}
	return p, p.read()
}

// read reads the CAs.
func (p *proxies) read() error {
	roots, err := readAuthorities(p.ClientCAFile)
	if err != nil {
		return fmt.Errorf("reading the CAs of the proxies: %w", err)
	}
	p.roots.Store(roots)
	return nil
}

func readAuthorities(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return roots, nil
}

// follow reads the CAs again until the context ends. If a file cannot be read, the previous CAs stay in use.
func (p *proxies) follow(ctx context.Context, log logr.Logger) {
	for passes(ctx, p.clock, rereadAfter) {
		if err := p.read(); err != nil {
			log.Error(err, "The CAs of the proxies cannot be read again")
		}
	}
}

// identity returns the caller that a proxy names. There are no proxies if p is nil.
func (p *proxies) identity(r *http.Request, users, groups []string) (Identity, *Error) {
	if p == nil || !p.vouches(r) {
		return Identity{}, rejected(`remove the headers and send "Authorization: Bearer <token>"`,
			"the headers %s and %s are accepted only from proxies with a client certificate",
			headerUser, headerGroups)
	}
	switch {
	case len(users) != 1:
		return Identity{}, rejected("have the proxy send one, and remove what its clients send",
			"the request has %d headers %s", len(users), headerUser)
	case len(groups) > 0 && !p.Groups:
		return Identity{}, rejected("have the proxy remove it, or ask the server's admin to set "+
			"identity.proxies.groups", "the header %s is not accepted from this proxy", headerGroups)
	}
	id := Identity{Name: p.Prefix + users[0], Source: SourceProxy}
	for _, group := range inOrder(groups) {
		id.Groups = append(id.Groups, p.Prefix+group)
	}
	problem := givenProblem(users[0])
	if problem == "" {
		problem = givenProblem(id.Name)
	}
	if problem != "" {
		return Identity{}, rejected("have the proxy send another name", "the name in %s %s", headerUser, problem)
	}
	for _, each := range [][]string{groups, id.Groups} {
		if problem := groupsProblem(each, givenProblem); problem != "" {
			return Identity{}, rejected("have the proxy send other groups", "the user %s", problem)
		}
	}
	return id, nil
}

// vouches reports whether a proxy sent the request. TLS has verified that the client has the certificate's
// key; the signer is verified here for each request, so that expired certificates and removed CAs stop
// working.
func (p *proxies) vouches(r *http.Request) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	leaf, others := r.TLS.PeerCertificates[0], x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		others.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: p.roots.Load(), Intermediates: others, CurrentTime: p.clock.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil && slices.ContainsFunc(p.Names, func(name string) bool {
		return name == leaf.Subject.CommonName || slices.Contains(leaf.DNSNames, name)
	})
}
