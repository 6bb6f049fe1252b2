package identity

import "github.com/coreos/go-oidc/v3/oidc"

// DefaultAudience is the audience of Kubernetes' tokens for this server if none is configured.
const DefaultAudience = "trainingjob-server"

// Default claims of the user name and the groups.
const (
	DefaultUsernameClaim = "sub"
	DefaultGroupsClaim   = "groups"
)

// Config configures authentication.
type Config struct {
	// OIDC lists the accepted OpenID Connect issuers, at most 16. Callers send "Authorization: Bearer
	// <token>" with an ID token, or an access token that is a JWT.
	OIDC []Issuer `json:"oidc,omitempty"`
	// TokenReview configures tokens of Kubernetes, such as those of kubectl create token.
	TokenReview TokenReview `json:"tokenReview"`
	// Proxies that can name the caller in the header X-User.
	Proxies Proxies `json:"proxies"`
}

// Issuer of OpenID Connect.
type Issuer struct {
	// URL of the issuer, exactly as in the claim iss: https, without query. Required.
	URL string `json:"url"`
	// DiscoveryURL is the discovery document, by default <url>/.well-known/openid-configuration. The document
	// must name url.
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CAFile is the absolute path of the PEM file of CAs for the issuer's certificate, read again every hour.
	// By default the CAs of the system.
	CAFile string `json:"caFile,omitempty"`
	// Audiences, at most 16: a token must have one of them in the claim aud. Required.
	Audiences []string `json:"audiences"`
	// Prefix of user and group names, such as "corp:", as in RoleBindings. It must not begin with "system:"
	// or be a beginning of it, and no issuer's prefix may begin with that of another. Required.
	Prefix string `json:"prefix"`
	// UsernameClaim is the claim with the user name, by default sub. With email, the server rejects tokens
	// with email_verified: false.
	UsernameClaim string `json:"usernameClaim,omitempty"`
	// GroupsClaim is the claim with the groups, a string or a list, by default groups. It is optional in
	// tokens.
	GroupsClaim string `json:"groupsClaim,omitempty"`
	// RequiredClaims are claims that a token must have, with their string values.
	RequiredClaims map[string]string `json:"requiredClaims,omitempty"`
	// Login lets users of the issuer log in with a browser. By default they cannot.
	Login Login `json:"login,omitzero"`
}

// Login lets an issuer's users log in to the board with a browser, by OpenID Connect's authorization code
// flow with PKCE. The issuer's prefix, claims and requiredClaims apply to ID tokens too; their audience must
// be clientID, independent of audiences.
type Login struct {
	// ClientID of the server at the issuer. The redirect URI is <board.url>/login/callback. Required.
	ClientID string `json:"clientID,omitempty"`
	// ClientSecretFile is the absolute path of a file with the client secret on one line, read at each login.
	// By default the client is public.
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// Scopes to request in addition to openid, at most 16, by default profile and email. Many issuers need
	// another scope for groups.
	Scopes []string `json:"scopes"`
}

// TokenReview configures tokens of Kubernetes.
type TokenReview struct {
	// Enabled verifies tokens of other issuers with TokenReview.
	Enabled bool `json:"enabled"`
	// Cluster that verifies the tokens, by name. Its service accounts can act only in that cluster. By
	// default the first cluster.
	Cluster string `json:"cluster,omitempty"`
	// Audiences, at most 16: a token must have one of them. Never list the API server's own audience. By
	// default trainingjob-server.
	Audiences []string `json:"audiences,omitempty"`
}

// Proxies can name the caller in the header X-User.
type Proxies struct {
	// ClientCAFile is the absolute path of the PEM file of CAs for the proxies' client certificates, read
	// again every minute. Use dedicated CAs. By default the server trusts no proxy.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// Names of the proxies, at most 64: the common name or a DNS name of the certificate. Required with
	// clientCAFile.
	Names []string `json:"names,omitempty"`
	// Groups accepts one group in each header X-Groups. The proxies must remove this header from client
	// requests.
	Groups bool `json:"groups"`
	// Prefix of user and group names from proxies. By default none: the proxies can name any user of any
	// issuer.
	Prefix string `json:"prefix,omitempty"`
}

// Default accepts tokens of Kubernetes for this server.
func Default() Config {
	return Config{TokenReview: TokenReview{Enabled: true, Audiences: []string{DefaultAudience}}}
}

// On reports whether there are trusted proxies. The server must then ask its clients for certificates, as
// with tls.RequestClientCert; they are verified here.
func (p Proxies) On() bool { return p.ClientCAFile != "" }

// On reports whether users can log in.
func (l Login) On() bool { return l.ClientID != "" }

// AllScopes returns openid and the other scopes.
func (l Login) AllScopes() []string {
	others := l.Scopes
	if others == nil {
		others = []string{"profile", "email"}
	}
	return append([]string{oidc.ScopeOpenID}, others...)
}

func (i Issuer) usernameClaim() string {
	if i.UsernameClaim == "" {
		return DefaultUsernameClaim
	}
	return i.UsernameClaim
}

func (i Issuer) groupsClaim() string {
	if i.GroupsClaim == "" {
		return DefaultGroupsClaim
	}
	return i.GroupsClaim
}
