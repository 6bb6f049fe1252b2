package identity

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// LoginIssuer is an issuer whose users log in with a browser. Package session speaks with the browser; here
// is what the issuer has said of itself, and what its ID tokens say.
type LoginIssuer struct{ issuer *issuer }

// LoginIssuers are those whose users log in with a browser, in the order of the configuration.
func (a *Authentication) LoginIssuers() []*LoginIssuer { return a.logins }

// URL of the issuer.
func (l *LoginIssuer) URL() string { return l.issuer.URL }

// Login is what the configuration says of it.
func (l *LoginIssuer) Login() Login { return l.issuer.Login }

// Endpoints of an issuer, as its discovery document names them.
type Endpoints struct {
	// Authorization is where the browser is sent, and Token where the server sends the code.
	Authorization, Token string
	// SecretInForm: the token endpoint wants the client's secret in the form, and not in a header.
	SecretInForm bool
	// NamesIssuer: what the authorization endpoint answers has the parameter iss (RFC 9207).
	NamesIssuer bool
	// Client asks the token endpoint, by TLS with the issuer's CAs alone, and follows no redirect.
	Client *http.Client
}

// Endpoints of the issuer. The error is an *Error: its discovery document could not be read yet.
func (l *LoginIssuer) Endpoints() (*Endpoints, error) {
	if found := l.issuer.endpoints.Load(); found != nil {
		return found, nil
	}
	return nil, l.issuer.notDiscovered()
}

// endpoints of an issuer that a client can log in at.
func (d *discoveryDocument) endpoints(transport http.RoundTripper) (*Endpoints, error) {
	for _, endpoint := range []struct{ name, url string }{
		{"authorization_endpoint", d.AuthURL}, {"token_endpoint", d.TokenURL},
	} {
		if u, err := url.Parse(endpoint.url); err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%s is not an https URL: nobody can log in", endpoint.name)
		}
	}
	e := &Endpoints{
		Authorization: d.AuthURL, Token: d.TokenURL, NamesIssuer: d.NamesIssuer,
		Client: &http.Client{
			Transport: transport, Timeout: issuerTimeout,
			// The code and the client's secret are for nobody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	const basic, post = "client_secret_basic", "client_secret_post" // the first is the default
	switch methods := d.TokenAuthMethods; {
	case len(methods) == 0, slices.Contains(methods, basic):
	case slices.Contains(methods, post), slices.Contains(methods, "none"):
		e.SecretInForm = true
	default:
		return nil, errors.New("the token endpoint takes neither " + basic + " nor " + post + ": nobody can log in")
	}
	return e, nil
}

// Verified is an identity, with what one must know of the proof to believe it for longer.
type Verified struct {
	Identity
	// Ends is when the proof does; zero where it does not say.
	Ends time.Time
	// Origin stands for what the configuration says of whoever vouches for the identity. One that is not among
	// Origins any more is not to be believed.
	Origin string
}

// Verify an ID token that the issuer has given for a code. The error is an *Error.
func (l *LoginIssuer) Verify(ctx context.Context, raw, nonce string) (Verified, error) {
	const remedy = "log in again"
	clientID := l.issuer.Login.ClientID
	token, err := l.issuer.check(ctx, raw, []string{clientID}, remedy)
	if err != nil {
		return Verified{}, err
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return Verified{}, rejected(remedy, "the token's claims cannot be read")
	}
	// OpenID Connect Core 1.0, section 3.1.3.7: a token for several must say which of them has asked for it.
	party, there := c.text("azp")
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 || nonce == "":
		return Verified{}, rejected(remedy, "the token is not of this login")
	case there && party != clientID, !there && len(token.Audience) > 1:
		return Verified{}, rejected(remedy, "the token was issued for another client")
	}
	id, err := l.issuer.user(token)
	if err != nil {
		return Verified{}, err
	}
	return Verified{Identity: id, Ends: token.Expiry, Origin: l.issuer.origin()}, nil
}

// VerifyToken says whose a token is that came from an address by another way than the header Authorization,
// where it would count too, and what it proves. The error is an *Error.
func (a *Authentication) VerifyToken(ctx context.Context, token, from string) (Verified, error) {
	if _, err := bearerToken([]string{"Bearer " + token}); err != nil {
		return Verified{}, rejected("send a token, and nothing else", "this is no token")
	}
	id, source, err := a.tokens.identity(ctx, token, from)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Identity: id, Ends: endOf(token), Origin: a.review}
	if source == SourceOIDC {
		v.Origin = a.issuers[issuerOf(token)].origin()
	}
	return v, nil
}

// ReviewAudience is the audience of Kubernetes' tokens for this server; empty where they are not accepted.
func (a *Authentication) ReviewAudience() string {
	if a.tokens.reviewer == nil {
		return ""
	}
	return a.tokens.reviewer.audiences[0]
}

// Origins of the identities that can be verified now.
func (a *Authentication) Origins() []string {
	var all []string
	for _, i := range a.issuers {
		all = append(all, i.origin())
	}
	if a.review != "" {
		all = append(all, a.review)
	}
	slices.Sort(all)
	return all
}

// origin changes with everything that makes other users of the same tokens.
func (i *issuer) origin() string {
	return originOf(SourceOIDC, i.URL, i.Prefix, i.usernameClaim(), i.groupsClaim(), i.RequiredClaims)
}

func reviewOrigin(cluster string, audiences []string) string {
	return originOf(SourceTokenReview, cluster, audiences)
}

func originOf(source Source, parts ...any) string {
	data, err := json.Marshal(parts) // with the keys of maps in order
	if err != nil {
		panic(err) // texts, and lists and maps of them, always have a JSON form
	}
	return string(source) + "/" + digest(data)
}

// FromLink is the identity of whoever opens a link that the server has printed, and its Origin. The error
// says what is wrong with the names: none may begin with "system:".
func FromLink(user string, groups []string) (Verified, error) {
	problem := givenProblem(user)
	if problem != "" {
		return Verified{}, errors.New("the name of the user " + problem)
	}
	if problem = groupsProblem(groups, givenProblem); problem != "" {
		return Verified{}, errors.New("the user " + problem)
	}
	groups = inOrder(groups)
	return Verified{
		Identity: Identity{Name: user, Groups: groups, Source: SourceLink},
		Origin:   originOf(SourceLink, user, groups),
	}, nil
}
