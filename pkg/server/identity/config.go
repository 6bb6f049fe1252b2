package identity

import "github.com/coreos/go-oidc/v3/oidc"

// DefaultAudience is the audience of Kubernetes' tokens for this server where none is configured.
const DefaultAudience = "trainingjob-server"

// Claims that name the user and its groups where none are configured.
const (
	DefaultUsernameClaim = "sub"
	DefaultGroupsClaim   = "groups"
)

// Config is who may call the server, and how callers prove who they are.
type Config struct {
	// OIDC are the OpenID Connect issuers whose tokens are accepted, at most 16. Callers send a token as
	// "Authorization: Bearer <token>": an ID token, or an access token that is a JWT.
	OIDC []Issuer `json:"oidc,omitempty"`
	// TokenReview is how tokens of Kubernetes are accepted, such as those of kubectl create token.
	TokenReview TokenReview `json:"tokenReview"`
	// Proxies may say in the header X-User who is calling.
	Proxies Proxies `json:"proxies"`
}

// Issuer of OpenID Connect.
type Issuer struct {
	// URL of the issuer, exactly as its tokens have it in the claim iss: https, without query. Required.
	URL string `json:"url"`
	// DiscoveryURL is the URL of the discovery document, where that is not
	// <url>/.well-known/openid-configuration; the document must name the issuer's own URL all the same.
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CAFile is the absolute path of the CAs, in PEM, that sign the issuer's certificate. It is read anew every
	// hour. By default those of the system.
	CAFile string `json:"caFile,omitempty"`
	// Audiences, of which a token must have one in its claim aud: at most 16. Required.
	Audiences []string `json:"audiences"`
	// Prefix of the names and groups of this issuer's users, such as "corp:". In the cluster's RoleBindings they
	// have it too. It may not begin with "system:" nor be a beginning of that, and no issuer's prefix may begin
	// with another's. Required.
	Prefix string `json:"prefix"`
	// UsernameClaim names the claim with the user's name. Where it is email, a token that says
	// email_verified: false is rejected. By default sub.
	UsernameClaim string `json:"usernameClaim,omitempty"`
	// GroupsClaim names the claim with the user's groups: a text or a list of texts. A token without it is of a
	// user without groups. By default groups.
	GroupsClaim string `json:"groupsClaim,omitempty"`
	// RequiredClaims are claims that a token must have, with their values, which are texts.
	RequiredClaims map[string]string `json:"requiredClaims,omitempty"`
	// Login lets the issuer's users log in to the board with a browser. By default they cannot.
	Login Login `json:"login,omitzero"`
}

// Login lets an issuer's users log in to the board with a browser, by OpenID Connect's authorization code
// flow with PKCE. What it says of prefix, claims and requiredClaims holds for ID tokens too; their audience
// must be clientID, whatever audiences says.
type Login struct {
	// ClientID of the server at the issuer, where its redirect URI is <board.url>/login/callback. Required.
	ClientID string `json:"clientID,omitempty"`
	// ClientSecretFile is the absolute path of a file with the client's secret on one line, such as a key of a
	// mounted secret. It is read at each login. By default the client is public and has none: PKCE alone then
	// keeps others from using what the issuer sends.
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// Scopes that are asked for beside openid: at most 16. Many issuers name the groups only with a scope of
	// their own, such as groups. By default profile and email.
	Scopes []string `json:"scopes"`
}

// TokenReview is how tokens of Kubernetes are accepted.
type TokenReview struct {
	// Enabled asks an API server about the tokens of which no issuer above is the issuer.
	Enabled bool `json:"enabled"`
	// Cluster whose API server is asked, by its name in clusters. Whoever it names acts in that cluster alone.
	// By default the first cluster.
	Cluster string `json:"cluster,omitempty"`
	// Audiences, of which a token must have one: at most 16. The API server's own audience must not be among
	// them: every workload's token has it, and whoever receives one could act as the workload. By default
	// trainingjob-server.
	Audiences []string `json:"audiences,omitempty"`
}

// Proxies may say in the header X-User who is calling.
type Proxies struct {
	// ClientCAFile is the absolute path of the CAs, in PEM, that sign the proxies' client certificates. It is
	// read anew every minute. These CAs should sign nothing else. By default no proxy is trusted, and requests
	// with the header X-User are rejected.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// Names of the proxies: the common name, or a DNS name, of their certificates. At most 64. Required with
	// clientCAFile.
	Names []string `json:"names,omitempty"`
	// Groups has the header X-Groups give the user's groups, one in each header of that name. The proxies must
	// then remove that header from what their clients send. Otherwise requests with it are rejected.
	Groups bool `json:"groups"`
	// Prefix that the proxies' names and groups are given here. By default none: X-User is the whole name, and
	// the proxies may name the users of every issuer.
	Prefix string `json:"prefix,omitempty"`
}

// Default is the configuration where nothing is said: tokens of Kubernetes for this server are accepted.
func Default() Config {
	return Config{TokenReview: TokenReview{Enabled: true, Audiences: []string{DefaultAudience}}}
}

// On reports whether there are trusted proxies. The server must then ask its clients for certificates, as
// with tls.RequestClientCert; they are verified here.
func (p Proxies) On() bool { return p.ClientCAFile != "" }

// On reports whether users can log in.
func (l Login) On() bool { return l.ClientID != "" }

// AllScopes are openid and those beside it.
func (l Login) AllScopes() []string {
	beside := l.Scopes
	if beside == nil {
		beside = []string{"profile", "email"}
	}
	return append([]string{oidc.ScopeOpenID}, beside...)
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
