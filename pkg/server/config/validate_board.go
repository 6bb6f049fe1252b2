package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateBoard checks board against the rest of the file.
func validateBoard(path *field.Path, c ServerConfiguration) field.ErrorList {
	errs := append(c.Board.Validate(path), validateKeys(path.Child("topologyLabels"), c.Board.TopologyLabels)...)
	var logins *field.Path // the first
	for n, issuer := range c.Identity.OIDC {
		if issuer.Login.On() && logins == nil {
			logins = field.NewPath("identity", "oidc").Index(n).Child("login")
		}
	}
	switch {
	case logins != nil && !c.Board.Enabled:
		errs = append(errs, field.Invalid(logins.Child("clientID"), field.OmitValueType{},
			"requires board.enabled: enable it, or remove login"))
	case logins != nil && c.Board.URL == "":
		errs = append(errs, field.Required(path.Child("url"),
			logins.String()+" requires it: set the URL at which "+
				"browsers reach the server, such as https://trainingjobs.example.com, and register "+
				"<url>/login/callback with the issuer"))
	}
	if strings.HasPrefix(c.Board.URL, "http://") && c.Listen.CertificateDir != "" {
		errs = append(errs, field.Invalid(path.Child("url"), c.Board.URL,
			"must be https: the API has a certificate (listen.certificateDir)"))
	}
	return append(errs, validateLink(path.Child("oneTimeLink"), c)...)
}

// validateLink rejects a login link that other machines could use.
func validateLink(path *field.Path, c ServerConfiguration) field.ErrorList {
	user := path.Child("user")
	switch link := c.Board.OneTimeLink; {
	case !link.On():
		return nil
	case !c.Board.Enabled:
		return field.ErrorList{field.Invalid(user, link.User,
			"requires board.enabled: enable it, or remove oneTimeLink")}
	case c.Listen.BindAddress == Off || !isLoopback(c.Listen.BindAddress):
		return field.ErrorList{field.Invalid(user, link.User, "logs in any reader of the link, so only this "+
			"machine may reach the API: bind listen.bindAddress to a loopback address such as "+
			"localhost:8080, or "+
			"remove oneTimeLink")}
	case c.Listen.CertificateDir == "" && !c.PlainHTTP():
		return field.ErrorList{field.Invalid(user, link.User,
			"is a link with plain HTTP, but browsers send the "+
				"sessions of an https board.url only by TLS: remove board.url or oneTimeLink")}
	}
	return nil
}

// PlainHTTP reports whether browsers reach the server by plain HTTP, which requires a loopback address.
// Otherwise the server or a proxy in front of it has a certificate; without one, browser sessions do not
// work.
func (c ServerConfiguration) PlainHTTP() bool {
	if c.Board.URL != "" {
		return strings.HasPrefix(c.Board.URL, "http://")
	}
	return c.Listen.CertificateDir == "" && isLoopback(c.Listen.BindAddress)
}
