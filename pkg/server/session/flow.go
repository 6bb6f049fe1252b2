package session

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// begin a login at an issuer: the browser goes there.
func (s *Sessions) begin(w http.ResponseWriter, r *http.Request, issuer *identity.LoginIssuer, next string) {
	client, _, err := s.client(issuer)
	if err != nil {
		s.finish(w, r, wayIssuer, err)
		return
	}
	p := pending{
		Issuer: issuer.URL(), State: encodeSecret(newSecret()), Nonce: encodeSecret(newSecret()),
		Verifier: oauth2.GenerateVerifier(), Next: next, Until: s.clock.Now().Add(loginLasts).Unix(),
	}
	if err := s.remember(w, r, p); err != nil {
		s.finish(w, r, wayIssuer, s.unavailable(r.Context(), err))
		return
	}
	http.Redirect(w, r, client.AuthCodeURL(p.State, oauth2.S256ChallengeOption(p.Verifier), oidc.Nonce(p.Nonce)),
		http.StatusSeeOther)
}

// client of an issuer. The error is an *identity.Error.
func (s *Sessions) client(issuer *identity.LoginIssuer) (*oauth2.Config, *identity.Endpoints, error) {
	endpoints, err := issuer.Endpoints()
	if err != nil {
		return nil, nil, err
	}
	login := issuer.Login()
	secret, err := readSecret(login.ClientSecretFile)
	if err != nil {
		s.log.Error(err, "The secret of a client cannot be read", "issuer", issuer.URL())
		return nil, nil, identity.Unavailable("this server cannot log anybody in at "+issuer.URL(),
			"tell an admin: the server's log has more")
	}
	style := oauth2.AuthStyleInHeader
	if endpoints.SecretInForm || secret == "" {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: login.ClientID, ClientSecret: secret, Scopes: login.AllScopes(),
		RedirectURL: strings.TrimSuffix(s.config.URL, "/") + CallbackPath,
		Endpoint: oauth2.Endpoint{
			AuthURL: endpoints.Authorization, TokenURL: endpoints.Token, AuthStyle: style,
		},
	}, endpoints, nil
}

// readSecret of a client; empty for a public one. It is read each time, since mounted secrets are replaced.
func readSecret(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	opened, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	data, err := io.ReadAll(io.LimitReader(opened, maxSecretBytes+1))
	secret := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", err
	case secret == "":
		return "", fmt.Errorf("%s is empty", file)
	case len(data) > maxSecretBytes || strings.ContainsAny(secret, "\r\n"):
		return "", fmt.Errorf("%s has more than one line of at most %d bytes", file, maxSecretBytes)
	}
	return secret, nil
}

// callback is where the issuer sends the browser back.
func (s *Sessions) callback(w http.ResponseWriter, r *http.Request) {
	value := ""
	if at := loginCookie(r.URL.Query().Get("state")); at != "" {
		value, _ = s.cookies.value(r, at)
		s.cookies.remove(w, at) // whatever comes of it, once
	}
	s.finish(w, r, wayIssuer, s.attempt(r, func() error {
		p, issuer, err := s.pendingOf(value, r.URL.Query())
		if err != nil {
			return err
		}
		verified, err := s.redeem(r.Context(), issuer, p, r.URL.Query().Get("code"))
		if err != nil {
			return err
		}
		return s.accept(w, r, verified, time.Time{}, localPath(p.Next))
	}))
}

// pendingOf is the login that an issuer's answer ends, with that issuer.
func (s *Sessions) pendingOf(value string, answer url.Values) (pending, *identity.LoginIssuer, error) {
	const again = "log in again"
	p, ok := decodePending(value)
	switch {
	case value == "":
		return p, nil, identity.Rejected("this login did not begin in this browser, or it is over", again)
	case !ok:
		return p, nil, identity.Rejected("what this browser knows of the login cannot be read", again)
	case s.clock.Now().Unix() >= p.Until:
		return p, nil, identity.Rejected("the login has taken more than ten minutes", again)
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(p.State)) != 1:
		return p, nil, identity.Rejected("this is not the login that began in this browser", again)
	}
	for _, issuer := range s.identity.LoginIssuers() {
		if issuer.URL() == p.Issuer {
			return p, issuer, answered(issuer, answer)
		}
	}
	return p, nil, identity.Rejected("nobody logs in any more at the issuer at which the login began", again)
}

// answered says what is wrong with an issuer's answer to a login that began there.
func answered(issuer *identity.LoginIssuer, answer url.Values) error {
	endpoints, err := issuer.Endpoints()
	if err != nil {
		return err
	}
	// RFC 9207: another issuer's answer would have the code of that one sent here.
	if names := answer.Get("iss"); names != issuer.URL() && (names != "" || endpoints.NamesIssuer) {
		return identity.Rejected("another issuer has answered than the one at which the login began",
			"log in again, and tell an admin if that happens again")
	}
	if code := answer.Get("error"); code != "" {
		said := strings.ToValidUTF8((code + " " + answer.Get("error_description")), "")
		return identity.Rejected(fmt.Sprintf("%s says: %.*s", issuer.URL(), maxSaidBytes, said), "log in again")
	}
	if answer.Get("code") == "" {
		return identity.Rejected(issuer.URL()+" has sent no code", "log in again")
	}
	return nil
}

// redeem a code: the issuer gives an ID token for it, which says who the user is.
func (s *Sessions) redeem(
	ctx context.Context, issuer *identity.LoginIssuer, p pending, code string,
) (identity.Verified, error) {
	client, endpoints, err := s.client(issuer)
	if err != nil {
		return identity.Verified{}, err
	}
	token, err := client.Exchange(context.WithValue(ctx, oauth2.HTTPClient, endpoints.Client), code,
		oauth2.VerifierOption(p.Verifier))
	if err != nil {
		return identity.Verified{}, s.notRedeemed(ctx, issuer, err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return identity.Verified{}, identity.Rejected(issuer.URL()+" has sent no ID token",
			"tell an admin: the client must be one of OpenID Connect")
	}
	return issuer.Verify(ctx, raw, p.Nonce)
}

// notRedeemed says why an issuer gives no token. What it has answered is neither shown nor logged whole.
func (s *Sessions) notRedeemed(ctx context.Context, issuer *identity.LoginIssuer, err error) error {
	refused := (*oauth2.RetrieveError)(nil)
	if errors.As(err, &refused) {
		if refused.ErrorCode == "invalid_grant" { // RFC 6749, section 5.2
			return identity.Rejected(issuer.URL()+" does not take the code: it is over, or was used", "log in again")
		}
		err = fmt.Errorf("the token endpoint answers %s, error %.*q", refused.Response.Status, maxSaidBytes,
			refused.ErrorCode)
	}
	if ctx.Err() == nil {
		s.log.Error(err, "An issuer gives no token for a code", "issuer", issuer.URL())
	}
	return identity.Unavailable(issuer.URL()+" does not say who you are",
		"log in again later. If that does not help tell an admin: the server's log has more")
}
