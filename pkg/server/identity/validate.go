package identity

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits for lists and texts.
const (
	maxIssuers   = 16
	maxAudiences = 16
	maxProxies   = 64
	maxClaims    = 16
	maxScopes    = 16
	maxText      = 253
)

// Validate returns the errors of a configuration, by field below path.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("oidc")
	if len(c.OIDC) > maxIssuers {
		errs = append(errs, field.TooMany(at, len(c.OIDC), maxIssuers))
	}
	for n, issuer := range c.OIDC {
		errs = append(errs, issuer.validate(at.Index(n))...)
		for _, former := range c.OIDC[:n] {
			errs = append(errs, issuer.clashes(at.Index(n), former)...)
		}
	}
	return append(errs, slices.Concat(
		c.TokenReview.validate(path.Child("tokenReview")),
		c.Proxies.validate(path.Child("proxies")),
	)...)
}

func (i Issuer) validate(path *field.Path) field.ErrorList {
	errs := validateURL(path.Child("url"), i.URL, "the issuer's URL, as in the claim iss of its tokens")
	if i.DiscoveryURL != "" {
		errs = append(errs, validateURL(path.Child("discoveryURL"), i.DiscoveryURL, "")...)
	}
	if i.CAFile != "" {
		errs = append(errs, validateFile(path.Child("caFile"), i.CAFile)...)
	}
	errs = append(errs, validateTexts(path.Child("audiences"), i.Audiences, maxAudiences,
		"set the audience of the issuer's tokens for this server")...)
	errs = append(errs, validatePrefix(path.Child("prefix"), i.Prefix)...)
	if i.Prefix == "" {
		errs = append(errs, field.Required(path.Child("prefix"), "set a prefix such as \"corp:\": "+
			"without one users of the issuer could take the names of others"))
	}
	for _, claim := range []struct{ key, name string }{
		{"usernameClaim", i.UsernameClaim}, {"groupsClaim", i.GroupsClaim},
	} {
		if len(claim.name) > maxText {
			errs = append(errs, field.TooLong(path.Child(claim.key), "", maxText))
		}
	}
	if len(i.RequiredClaims) > maxClaims {
		errs = append(errs, field.TooMany(path.Child("requiredClaims"), len(i.RequiredClaims), maxClaims))
	}
	for _, name := range sets.List(sets.KeySet(i.RequiredClaims)) {
		if value := i.RequiredClaims[name]; name == "" || value == "" || len(name)+len(value) > maxText {
			errs = append(errs, field.Invalid(path.Child("requiredClaims").Key(name), value,
				fmt.Sprintf("must be the name of a claim and a string, at most %d bytes together", maxText)))
		}
	}
	return append(errs, i.Login.validate(path.Child("login"))...)
}

func (l Login) validate(path *field.Path) field.ErrorList {
	if !l.On() {
		if l.ClientSecretFile == "" && l.Scopes == nil {
			return nil
		}
		return field.ErrorList{field.Required(path.Child("clientID"),
			"register the server with the issuer and set the client ID, or remove login")}
	}
	errs := validateTexts(path.Child("clientID"), []string{l.ClientID}, 1, "")
	for _, err := range errs {
		err.Field = path.Child("clientID").String() // not a list
	}
	if l.ClientSecretFile != "" {
		errs = append(errs, validateFile(path.Child("clientSecretFile"), l.ClientSecretFile)...)
	}
	if len(l.Scopes) == 0 {
		return errs
	}
	errs = append(errs, validateTexts(path.Child("scopes"), l.Scopes, maxScopes, "")...)
	for n, scope := range l.Scopes {
		switch {
		case scope == oidc.ScopeOpenID:
			errs = append(errs, field.Invalid(path.Child("scopes").Index(n), scope,
				"is always requested: remove it"))
		case strings.ContainsAny(scope, `"\`): // RFC 6749, section 3.3
			errs = append(errs, field.Invalid(path.Child("scopes").Index(n), scope,
				"must not have quotes or backslashes"))
		}
	}
	return errs
}

// clashes returns the conflicts between two issuers.
func (i Issuer) clashes(path *field.Path, former Issuer) field.ErrorList {
	var errs field.ErrorList
	if i.URL != "" && i.URL == former.URL {
		errs = append(errs, field.Duplicate(path.Child("url"), i.URL))
	}
	if i.Prefix == "" || former.Prefix == "" {
		return errs
	}
	if strings.HasPrefix(i.Prefix, former.Prefix) || strings.HasPrefix(former.Prefix, i.Prefix) {
		errs = append(errs, field.Invalid(path.Child("prefix"), i.Prefix, fmt.Sprintf(
			"conflicts with the prefix %q of another issuer, because one is a beginning of the other",
			former.Prefix)))
	}
	return errs
}

func (t TokenReview) validate(path *field.Path) field.ErrorList {
	switch {
	case t.Enabled:
		return validateTexts(path.Child("audiences"), t.Audiences, maxAudiences,
			"set the audience of tokens for this server, or remove the key")
	case t.Cluster != "":
		return field.ErrorList{field.Invalid(path.Child("cluster"), t.Cluster,
			"requires tokenReview.enabled: remove it")}
	}
	return nil
}

func (p Proxies) validate(path *field.Path) field.ErrorList {
	if p.On() {
		return append(append(validateFile(path.Child("clientCAFile"), p.ClientCAFile),
			validateTexts(path.Child("names"), p.Names, maxProxies,
				"list the names of the proxies, as in their certificates: the CA can sign other "+
					"certificates")...),
			validatePrefix(path.Child("prefix"), p.Prefix)...)
	}
	if len(p.Names) > 0 || p.Groups || p.Prefix != "" {
		return field.ErrorList{field.Required(path.Child("clientCAFile"),
			"set the file of the CA that signs the proxies' certificates")}
	}
	return nil
}

// validatePrefix rejects a prefix that can form names that begin with "system:".
func validatePrefix(path *field.Path, prefix string) field.ErrorList {
	switch {
	case prefix == "":
		return nil
	case strings.HasPrefix(prefix, reserved), strings.HasPrefix(reserved, prefix):
		return field.ErrorList{field.Invalid(path, prefix,
			`can form names that begin with "system:": choose one such as "corp:"`)}
	case len(prefix) > maxText || strings.ContainsFunc(prefix, unprintable):
		return field.ErrorList{field.Invalid(path, prefix, fmt.Sprintf(
			"must have at most %d printable ASCII characters without spaces", maxText))}
	}
	return nil
}

func validateURL(path *field.Path, text, required string) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, required)}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https", u.Host == "":
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"must be https://<host>[:<port>][/<path>]")}
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"must not have credentials, query or fragment")}
	}
	return nil
}
func validateTexts(path *field.Path, texts []string, most int, required string) field.ErrorList {
	var errs field.ErrorList
	switch {
	case len(texts) == 0:
		errs = append(errs, field.Required(path, required))
	case len(texts) > most:
		errs = append(errs, field.TooMany(path, len(texts), most))
	}
	for n, text := range texts {
		switch {
		case text == "" || len(text) > maxText || strings.ContainsFunc(text, unprintable):
			errs = append(errs, field.Invalid(path.Index(n), text, fmt.Sprintf(
				"must have 1 to %d printable ASCII characters without spaces", maxText)))
		case slices.Contains(texts[:n], text):
			errs = append(errs, field.Duplicate(path.Index(n), text))
		}
	}
	return errs
}

// validateFile accepts absolute paths in their shortest form.
func validateFile(path *field.Path, name string) field.ErrorList {
	if filepath.IsAbs(name) && filepath.Clean(name) == name {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be an absolute path without . or ..")}
}

// unprintable reports whether a character is a space or not printable ASCII.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }
