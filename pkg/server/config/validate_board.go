package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateBoard checks what board says against the rest of the file.
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
			"has no use while board.enabled is false: enable it, or leave login out"))
	case logins != nil && c.Board.URL == "":
		errs = append(errs, field.Required(path.Child("url"), logins.String()+" is set: name the URL at which "+
			"browsers reach the server, such as https://trainingjobs.example.com, and register "+
			"<url>/login/callback with the issuer"))
	}
	if strings.HasPrefix(c.Board.URL, "http://") && c.Listen.CertificateDir != "" {
		errs = append(errs, field.Invalid(path.Child("url"), c.Board.URL,
			"must be https: the API has a certificate (listen.certificateDir)"))
	}
	return append(errs, validateLink(path.Child("oneTimeLink"), c)...)
}

// validateLink keeps a link that logs anybody in from where others could use it.
func validateLink(path *field.Path, c ServerConfiguration) field.ErrorList {
	user := path.Child("user")
	switch link := c.Board.OneTimeLink; {
	case !link.On():
		return nil
	case !c.Board.Enabled:
		return field.ErrorList{field.Invalid(user, link.User,
			"has no use while board.enabled is false: enable it, or leave oneTimeLink out")}
	case c.Listen.BindAddress == Off || !isLoopback(c.Listen.BindAddress):
		return field.ErrorList{field.Invalid(user, link.User, "logs in whoever has the link, so the API must be "+
			"for this machine alone: bind listen.bindAddress to a loopback address such as localhost:8080, or "+
			"leave oneTimeLink out")}
	case c.Listen.CertificateDir == "" && !c.PlainHTTP():
		return field.ErrorList{field.Invalid(user, link.User, "is a link of plain HTTP, and browsers send the "+
			"sessions of board.url, which is https, by TLS alone: leave board.url or oneTimeLink out")}
	}
	return nil
}

// PlainHTTP reports whether browsers reach the server by plain HTTP, which is on a loopback address alone. In
// any other case either the server has a certificate, or something before it has: then nothing works that
// needs a browser's session, unless that is so.
func (c ServerConfiguration) PlainHTTP() bool {
	if c.Board.URL != "" {
		return strings.HasPrefix(c.Board.URL, "http://")
	}
	return c.Listen.CertificateDir == "" && isLoopback(c.Listen.BindAddress)
}
