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

// begin redirects the browser to an issuer's login.
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

// client returns the OAuth client of an issuer. The error is an *identity.Error.
func (s *Sessions) client(issuer *identity.LoginIssuer) (*oauth2.Config, *identity.Endpoints, error) {
	endpoints, err := issuer.Endpoints()
	if err != nil {
		return nil, nil, err
	}
	login := issuer.Login()
	secret, err := readSecret(login.ClientSecretFile)
	if err != nil {
		s.log.Error(err, "The secret of a client cannot be read", "issuer", issuer.URL())
		return nil, nil, identity.Unavailable("this server cannot use the login of "+issuer.URL(),
			"report this to an admin: the server's log has the cause")
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

// readSecret of a client; empty for a public one. It is read each time, because mounted secrets change.
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

// callback handles the redirect from the issuer.
func (s *Sessions) callback(w http.ResponseWriter, r *http.Request) {
	value := ""
	if at := loginCookie(r.URL.Query().Get("state")); at != "" {
		value, _ = s.cookies.value(r, at)
		s.cookies.remove(w, at) // it can be used only once
	}
	s.finish(w, r, wayIssuer, func() error {
		p, issuer, err := s.pendingOf(value, r.URL.Query())
		if err != nil {
			return err
		}
		// By login, not by address: others behind the same proxy must not use up the logins of a user.
		if !s.redeemed.Take(p.State, s.clock.Now()) {
			return identity.Rejected("this login was already used", "log in again")
		}
		verified, err := s.redeem(r.Context(), issuer, p, r.URL.Query().Get("code"))
		if err != nil {
			return err
		}
		return s.accept(w, r, verified, time.Time{}, localPath(p.Next))
	}())
}

// pendingOf returns the login that an issuer's response belongs to, and the issuer.
func (s *Sessions) pendingOf(value string, answer url.Values) (pending, *identity.LoginIssuer, error) {
	const again = "log in again"
	p, ok := decodePending(value)
	switch {
	case value == "":
		return p, nil, identity.Rejected("this login did not begin in this browser, or has expired", again)
	case !ok:
		return p, nil, identity.Rejected("the browser's cookie of the login cannot be read", again)
	case s.clock.Now().Unix() >= p.Until:
		return p, nil, identity.Rejected("the login took more than ten minutes", again)
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(p.State)) != 1:
		return p, nil, identity.Rejected("this login did not begin in this browser", again)
	}
	for _, issuer := range s.identity.LoginIssuers() {
		if issuer.URL() == p.Issuer {
			return p, issuer, answered(issuer, answer)
		}
	}
	return p, nil, identity.Rejected("the issuer of this login no longer offers login", again)
}

// answered returns what is wrong with an issuer's response to a login.
func answered(issuer *identity.LoginIssuer, answer url.Values) error {
	endpoints, err := issuer.Endpoints()
	if err != nil {
		return err
	}
	// RFC 9207: otherwise another issuer could have its code sent here.
	if names := answer.Get("iss"); names != issuer.URL() && (names != "" || endpoints.NamesIssuer) {
		return identity.Rejected("the response is from another issuer than the login",
			"log in again, and report it to an admin if it happens again")
	}
	if code := answer.Get("error"); code != "" {
		text := strings.ToValidUTF8((code + " " + answer.Get("error_description")), "")
		return identity.Rejected(fmt.Sprintf("%s returned: %.*s", issuer.URL(), maxIssuerErrorBytes, text),
			"log in again")
	}
	if answer.Get("code") == "" {
		return identity.Rejected(issuer.URL()+" has sent no code", "log in again")
	}
	return nil
}

// redeem exchanges a code for an ID token, which names the user.
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
		return identity.Verified{}, identity.Rejected(issuer.URL()+" returned no ID token",
			"report this to an admin: the client must use OpenID Connect")
	}
	return issuer.Verify(ctx, raw, p.Nonce)
}

// notRedeemed returns why an issuer returned no token. The issuer's response is not shown or logged in full.
func (s *Sessions) notRedeemed(ctx context.Context, issuer *identity.LoginIssuer, err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if refused.ErrorCode == "invalid_grant" { // RFC 6749, section 5.2
			return identity.Rejected(issuer.URL()+" rejected the code: it has expired or was used",
				"log in again")
		}
		err = fmt.Errorf("the token endpoint returned %s, error %.*q", refused.Response.Status,
			maxIssuerErrorBytes,
			refused.ErrorCode)
	}
	if ctx.Err() == nil {
		s.log.Error(err, "An issuer returned no token for a code", "issuer", issuer.URL())
	}
	return identity.Unavailable(issuer.URL()+" did not return your identity",
		"log in again later. If that fails, report it to an admin: the server's log has the cause")
}
