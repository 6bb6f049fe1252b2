package oidcprovider

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	certutil "k8s.io/client-go/util/cert"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/npm"
)

//go:embed package.json package-lock.json .npmrc server.mjs
var files embed.FS

// User that gets tokens.
type User struct {
	// Name is the claim sub of its tokens.
	Name string
	// Groups is the claim groups.
	Groups []string
}

// Options of a Provider.
type Options struct {
	// Dir is an existing folder for its certificate, configuration and log.
	Dir string
	// Audience of the tokens.
	Audience string
	// Algorithm that signs the tokens: ES256 or RS256. Default: ES256.
	Algorithm string
	Users     []User
	// Login is a client that logs users in with a browser. nil: none.
	Login *Client
}

// Client logs users in with a browser, by the authorization code flow with PKCE and with the scopes openid
// and groups. It proves itself at the token endpoint by the Provider's Secret.
type Client struct {
	// ID of the client, which is no user's name.
	ID string
	// RedirectURI is where browsers are sent back to.
	RedirectURI string
}

// Provider is an OpenID provider that runs.
type Provider struct {
	// Issuer is its URL, which its tokens have in the claim iss.
	Issuer string
	// CAFile is the path of the CA that signs its certificate.
	CAFile string

	client   *http.Client
	secret   string
	launcher *process.Launcher
	process  process.Process
}

// configuration of server.mjs.
type configuration struct {
	Issuer    string          `json:"issuer"`
	Port      int             `json:"port"`
	Cert      string          `json:"cert"`
	Key       string          `json:"key"`
	Audience  string          `json:"audience"`
	Algorithm string          `json:"algorithm"`
	Clients   []configuredFor `json:"clients"`
	Login     *loginFor       `json:"login,omitempty"`
}

type loginFor struct {
	ID          string `json:"id"`
	Secret      string `json:"secret"`
	RedirectURI string `json:"redirectURI"`
}

type configuredFor struct {
	ID     string   `json:"id"`
	Secret string   `json:"secret"`
	Groups []string `json:"groups"`
}

// Start installs the provider where it is not in the cache, starts it and waits until it answers. If it fails
// it leaves nothing running; otherwise the caller must call Stop.
func Start(ctx context.Context, o Options) (*Provider, error) {
	folder, err := npm.Install(ctx, "oidcprovider", files)
	if err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("finding node (it is Debian's package nodejs): %w", err)
	}
	cache, err := components.FindCache("")
	if err != nil {
		return nil, err
	}
	const name = "oidcprovider"
	ports, release, err := layout.ChoosePorts(filepath.Join(cache, "ports"), []string{name})
	if err != nil {
		return nil, err
	}
	defer release()
	p := &Provider{
		Issuer: "https://" + layout.LocalAddress(ports[name]), CAFile: filepath.Join(o.Dir, "oidcprovider.crt"),
		secret: rand.Text(), launcher: process.NewLauncher(true),
	}
	config := filepath.Join(o.Dir, "oidcprovider.json")
	if err := p.write(config, o, ports[name]); err != nil {
		p.launcher.Close()
		return nil, err
	}
	p.process = process.Process{
		Name: name, Path: node, Ports: []int{ports[name]}, Log: filepath.Join(o.Dir, "oidcprovider.log"),
		Args: []string{filepath.Join(folder, "server.mjs"), config},
	}
	if err := p.launcher.Start(&p.process); err != nil {
		p.launcher.Close()
		return nil, err
	}
	if err := p.waitReady(ctx); err != nil {
		return nil, errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// write the certificate and the configuration, and make a client that trusts it.
func (p *Provider) write(config string, o Options, port int) error {
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("making the OpenID provider's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	p.client = &http.Client{
		Timeout:   process.ProbeTimeout,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}
	c := configuration{
		Issuer: p.Issuer, Port: port, Cert: p.CAFile, Key: filepath.Join(o.Dir, "oidcprovider.key"),
		Audience: o.Audience, Algorithm: o.Algorithm,
	}
	if c.Algorithm == "" {
		c.Algorithm = "ES256"
	}
	for _, u := range o.Users {
		c.Clients = append(c.Clients, configuredFor{ID: u.Name, Secret: p.secret, Groups: u.Groups})
	}
	if o.Login != nil {
		c.Login = &loginFor{ID: o.Login.ID, Secret: p.secret, RedirectURI: o.Login.RedirectURI}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing the OpenID provider's configuration: %w", err)
	}
	for name, content := range map[string][]byte{c.Cert: cert, c.Key: key, config: data} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return fmt.Errorf("writing the OpenID provider's configuration: %w", err)
		}
	}
	return nil
}

func (p *Provider) waitReady(ctx context.Context) error {
	return p.process.WaitUntil(ctx, "the OpenID provider", func(ctx context.Context) error {
		_, err := p.ask(ctx, http.MethodGet, "/.well-known/openid-configuration", nil, nil)
		return err
	})
}

// Secret of all clients.
func (p *Provider) Secret() string { return p.secret }

// Token returns a new token of a user. It is valid for ten minutes.
func (p *Provider) Token(ctx context.Context, user string) (string, error) {
	data, err := p.ask(ctx, http.MethodPost, "/token", url.Values{"grant_type": {"client_credentials"}},
		url.UserPassword(url.QueryEscape(user), p.secret))
	if err != nil {
		return "", fmt.Errorf("getting a token of %s: %w", user, err)
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.Token == "" {
		return "", fmt.Errorf("getting a token of %s: the answer has none", user)
	}
	return answer.Token, nil
}

// Rotate the keys: tokens that were issued before are not valid any more.
func (p *Provider) Rotate(ctx context.Context) error {
	if _, err := p.ask(ctx, http.MethodPost, "/rotate", nil, nil); err != nil {
		return fmt.Errorf("rotating the OpenID provider's keys: %w", err)
	}
	return nil
}

func (p *Provider) ask(
	ctx context.Context, method, path string, form url.Values, as *url.Userinfo,
) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.Issuer+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if as != nil {
		password, _ := as.Password()
		r.SetBasicAuth(as.Username(), password)
	}
	response, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", response.Status, data)
	}
	return data, err
}

// Stop ends the process and waits for its exit. Its folder stays.
func (p *Provider) Stop(ctx context.Context) error {
	defer p.launcher.Close()
	return p.process.Stop(ctx)
}
