package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// LoginIssuer is an issuer whose users log in with a browser. Package session handles the browser; this
// package has the issuer's endpoints and verifies its ID tokens.
type LoginIssuer struct{ issuer *issuer }

// LoginIssuers returns the issuers with login, in the order of the configuration.
func (a *Authentication) LoginIssuers() []*LoginIssuer { return a.logins }

// URL of the issuer.
func (l *LoginIssuer) URL() string { return l.issuer.URL }

// Login returns the configuration of the login.
func (l *LoginIssuer) Login() Login { return l.issuer.Login }

// Endpoints of an issuer, from its discovery document.
type Endpoints struct {
	// Authorization is the URL for the browser, and Token the URL to which the server sends the code.
	Authorization, Token string
	// SecretInForm: the token endpoint expects the client's secret in the form, not in a header.
	SecretInForm bool
	// NamesIssuer: responses of the authorization endpoint have the parameter iss (RFC 9207).
	NamesIssuer bool
	// Client of the token endpoint. It trusts only the issuer's CAs, and follows no redirects.
	Client *http.Client
}

// Endpoints returns the endpoints. The error is an *Error: the discovery document has not been read yet.
func (l *LoginIssuer) Endpoints() (*Endpoints, error) {
	if found := l.issuer.endpoints.Load(); found != nil {
		return found, nil
	}
	return nil, l.issuer.notDiscovered()
}

// endpoints returns the endpoints of an issuer that supports login.
func (d *discoveryDocument) endpoints(transport http.RoundTripper) (*Endpoints, error) {
	for _, endpoint := range []struct{ name, url string }{
		{"authorization_endpoint", d.AuthURL}, {"token_endpoint", d.TokenURL},
	} {
		if u, err := url.Parse(endpoint.url); err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%s is not an https URL: login is not possible", endpoint.name)
		}
	}
	e := &Endpoints{
		Authorization: d.AuthURL, Token: d.TokenURL, NamesIssuer: d.NamesIssuer,
		Client: &http.Client{
			Transport: transport, Timeout: issuerTimeout,
			// The code and the client's secret are only for this endpoint.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	const basic, post = "client_secret_basic", "client_secret_post" // the first is the default
	switch methods := d.TokenAuthMethods; {
	case len(methods) == 0, slices.Contains(methods, basic):
	case slices.Contains(methods, post), slices.Contains(methods, "none"):
		e.SecretInForm = true
	default:
		return nil, errors.New("the token endpoint accepts neither " + basic + " nor " + post + ": login " +
			"is not possible")
	}
	return e, nil
}

// Verified is an identity and how long it can be trusted.
type Verified struct {
	Identity
	// Ends is when the credential expires; zero if it has no expiry.
	Ends time.Time
	// Origin stands for the configuration that the identity depends on. The identity is invalid once Origins
	// does not return it any more.
	Origin string
	// Token to verify again from time to time (VerifyAgain), because it can be revoked; empty for others.
	Token string
}

// Verify verifies an ID token that the issuer returned for a code. The error is an *Error.
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
	// OpenID Connect Core 1.0, section 3.1.3.7: with several audiences, azp names the client.
	party, there := c.text("azp")
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 || nonce == "":
		return Verified{}, rejected(remedy, "the token belongs to another login")
	case there && party != clientID, !there && len(token.Audience) > 1:
		return Verified{}, rejected(remedy, "the token was issued for another client")
	}
	id, err := l.issuer.user(token)
	if err != nil {
		return Verified{}, err
	}
	return Verified{Identity: id, Ends: token.Expiry, Origin: l.issuer.origin()}, nil
}

// VerifyToken returns the user of a token that an address has sent outside of the Authorization header. The
// error is an *Error.
func (a *Authentication) VerifyToken(ctx context.Context, token, from string) (Verified, error) {
	if _, err := bearerToken([]string{"Bearer " + token}); err != nil {
		return Verified{}, rejected("send only a token", "the text is not a token")
	}
	id, source, err := a.tokens.identity(ctx, token, from)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Identity: id, Ends: endOf(token), Origin: a.review, Token: token}
	if source == SourceOIDC {
		v.Origin, v.Token = a.issuers[issuerOf(token)].origin(), ""
	}
	return v, nil
}

// VerifyAgain returns the user of a token that VerifyToken has accepted before. A review is used for a few
// seconds. The error is an *Error.
func (a *Authentication) VerifyAgain(ctx context.Context, token string) (Identity, error) {
	if a.tokens.reviewer == nil || token == "" {
		return Identity{}, rejected("log in again", "there is no token that the cluster can review")
	}
	key := sha256.Sum256([]byte(token))
	v, known := a.tokens.known(key)
	if !known {
		v = a.tokens.review(ctx, token, key)
	}
	return v.id, asError(v.rejected)
}

// ReviewAudience returns the audience of Kubernetes' tokens for this server; empty if they are not accepted.
func (a *Authentication) ReviewAudience() string {
	if a.tokens.reviewer == nil {
		return ""
	}
	return a.tokens.reviewer.audiences[0]
}

// Origins returns the origins of the identities that can be verified now.
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

// origin changes with every setting that changes the users of the same tokens.
func (i *issuer) origin() string {
	return originOf(SourceOIDC, i.URL, i.Prefix, i.usernameClaim(), i.groupsClaim(), i.RequiredClaims)
}

func reviewOrigin(cluster string, audiences []string) string {
	return originOf(SourceTokenReview, cluster, audiences)
}

func originOf(source Source, parts ...any) string {
	data, err := json.Marshal(parts) // sorts the keys of maps
	if err != nil {
		panic(err) // strings, lists and maps of strings always encode
	}
	return string(source) + "/" + digest(data)
}

// FromLink returns the identity of the user of the one-time link, and its Origin. The error is what is wrong
// with the names: none may begin with "system:".
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
