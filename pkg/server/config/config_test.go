package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
)

const head = "apiVersion: config.mlplatform.example.com/v1alpha1\nkind: ServerConfiguration\n"

// Parts of files.
const (
	loginAt = "identity: {oidc: [{url: 'https://sso.example.com', audiences: [a], prefix: 'corp:', " +
		"login: {clientID: board}}]}\n"
	link = "board: {oneTimeLink: {user: demo}}"
)

func with(change func(*ServerConfiguration)) ServerConfiguration {
	c := Default()
	change(&c)
	return c
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		reason, yaml string
		want         ServerConfiguration
	}{
		"empty": {"absent keys have their defaults", head, Default()},
		"switched off": {"false and empty must differ from absent", head + `
listen: {bindAddress: "0"}
gpuKindLabels: []
userKeys: []
board: {topologyLabels: []}
metrics: {secure: false}
`, with(func(c *ServerConfiguration) {
			c.Listen.BindAddress, c.Metrics.Secure = Off, false
			c.GPUKindLabels, c.UserKeys, c.Board.TopologyLabels = []string{}, []string{}, []string{}
		})},
		"everything": {"every key of the documentation is read", head + `
listen: {bindAddress: ":8443", certificateDir: /certs, trustedProxies: [10.0.0.0/8]}
clusters:
- {name: east, kubeconfig: /etc/clusters/config, context: east}
- {name: here}
database: {urlFile: /etc/database/url}
retention: {days: 365}
finalizer: {enabled: true}
prices:
- {gpuKind: NVIDIA-H100-80GB-HBM3, perGPUHour: 2.75}
- {gpuKind: nvidia.com/gpu, perGPUHour: "0.100000"}
- {gpuKind: amd.com/gpu, perGPUHour: 0}
currency: USD
gpus: [amd.com/gpu]
gpuKindLabels: [amd.com/gpu.product-name]
userKeys: [example.com/owner, team]
metrics: {bindAddress: "0", certificateDir: /metrics}
health: {bindAddress: "127.0.0.1:9000"}
`, with(func(c *ServerConfiguration) {
			c.Listen = Listen{
				BindAddress: ":8443", CertificateDir: "/certs", TrustedProxies: []string{"10.0.0.0/8"},
			}
			c.Clusters = []Cluster{{"east", "/etc/clusters/config", "east"}, {Name: "here"}}
			c.Database.URLFile, c.Retention.Days, c.Finalizer.Enabled = "/etc/database/url", 365, true
			c.Prices = []Price{{"NVIDIA-H100-80GB-HBM3", "2.75"}, {"nvidia.com/gpu", "0.100000"}, {"amd.com/gpu", "0"}}
			c.Currency, c.GPUKindLabels = "USD", []string{"amd.com/gpu.product-name"}
			c.UserKeys, c.GPUs = []string{"example.com/owner", "team"}, []string{"amd.com/gpu"}
			c.Metrics.BindAddress, c.Metrics.CertificateDir = Off, "/metrics"
			c.Health.BindAddress = "127.0.0.1:9000"
		})},
		"plain HTTP that is asked for": {"a proxy encrypts",
			head + "listen: {bindAddress: ':80', insecure: true}", with(func(c *ServerConfiguration) {
				c.Listen = Listen{BindAddress: ":80", Insecure: true}
			})},
		"a login": {"the board's URL tells the issuer where browsers go back to",
			head + loginAt + "board: {url: 'https://board.example.com', sessionHours: 8, topologyLabels: " +
				"[rack]}",
			with(func(c *ServerConfiguration) {
				c.Board.URL, c.Board.SessionHours = "https://board.example.com", 8
				c.Board.TopologyLabels = []string{"rack"}
				c.Identity.OIDC = []identity.Issuer{{
					URL: "https://sso.example.com", Audiences: []string{"a"}, Prefix: "corp:",
					Login: identity.Login{ClientID: "board"},
				}}
			})},
		"a link": {"for a demonstration", head + "board: {url: 'http://127.0.0.1:8080', oneTimeLink: {user: demo, " +
			"groups: [a], file: /tmp/link}}", with(func(c *ServerConfiguration) {
			c.Board.URL = "http://127.0.0.1:8080"
			c.Board.OneTimeLink = session.OneTimeLink{User: "demo", Groups: []string{"a"}, File: "/tmp/link"}
		})},
		"PostgreSQL without a password": {"the certificate or the address is enough there",
			head + "database: {url: 'postgres://history@db:5432/history?sslmode=verify-full'}",
			with(func(c *ServerConfiguration) {
				c.Database.URL = "postgres://history@db:5432/history?sslmode=verify-full"
			})},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	many := func(format string, n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	tests := map[string]struct{ yaml, says string }{
		"an unknown key, by name":   {head + "metrics: {bindAdress: ':1'}", "bindAdress"},
		"an unknown key in a list":  {head + "clusters: [{name: a, config: /a}]", "config"},
		"a key given twice":         {head + "currency: EUR\ncurrency: USD", "currency"},
		"another kind":              {strings.Replace(head, "Server", "Operator", 1), "kind"},
		"no apiVersion":             {"kind: ServerConfiguration", "apiVersion"},
		"plain HTTP for everybody":  {head + "listen: {bindAddress: ':8443'}", "listen.certificateDir: Required"},
		"a proxy without a network": {head + "listen: {trustedProxies: [10.0.0.1]}", "trustedProxies[0]: Invalid"},
		"everything as a proxy":     {head + "listen: {trustedProxies: ['0.0.0.0/0']}", "must be a network"},
		"a certificate for nothing": {head + "listen: {insecure: true, certificateDir: /a}", "listen.insecure"},
		"a relative certificate":    {head + "listen: {certificateDir: a}", "listen.certificateDir: Invalid"},
		"an address without a port": {head + "listen: {bindAddress: localhost}", "listen.bindAddress"},
		"a cluster without a name":  {head + "clusters: [{kubeconfig: /a}]", "clusters[0].name: Required"},
		"a cluster twice":           {head + "clusters: [{name: a}, {name: a}]", "clusters[1].name: Duplicate"},
		"a name that is no label":   {head + "clusters: [{name: A_B}]", "clusters[0].name: Invalid"},
		"a context of nothing":      {head + "clusters: [{name: a, context: b}]", "clusters[0].context: Invalid"},
		"a relative kubeconfig":     {head + "clusters: [{name: a, kubeconfig: ./b}]", "clusters[0].kubeconfig"},
		"too many clusters":         {head + "clusters: " + many("{name: c%d}", 101), "clusters: Too many"},
		"two databases": {head + "database: {url: 'sqlite:///a', urlFile: /b}",
			"database.urlFile: Invalid"},
		"a relative file of a URL": {head + "database: {urlFile: b}", "database.urlFile: Invalid"},
		"an unknown database": {head + "database: {url: 'mysql://db/history'}",
			"has an unknown scheme"},
		"a file without its folder": {head + "database: {url: 'sqlite://history.db'}", "has a host"},
		"a database in memory":      {head + "database: {url: 'sqlite::memory:'}", "no absolute path"},
		"options of SQLite": {head + "database: {url: 'sqlite:///a?mode=ro'}",
			"must have a path alone"},
		"a database without a name": {head + "database: {url: 'postgres://db'}", "no host or no database"},
		"a negative retention":      {head + "retention: {days: -1}", "retention.days"},
		"a retention of millennia":  {head + "retention: {days: 36501}", "retention.days"},
		"a price of nothing":        {head + "prices: [{perGPUHour: 1}]", "prices[0].gpuKind: Required"},
		"a kind without its price":  {head + "prices: [{gpuKind: a}]", "prices[0].perGPUHour: Required"},
		"two prices of one kind": {head + "prices: [{gpuKind: a, perGPUHour: 1}, {gpuKind: a, perGPUHour: 2}]",
			"prices[1].gpuKind: Duplicate"},
		"a kind with spaces": {head + "prices: [{gpuKind: 'a b', perGPUHour: 1}]",
			"prices[0].gpuKind: Invalid"},
		"a negative price": {head + "prices: [{gpuKind: a, perGPUHour: -1}]",
			"prices[0].perGPUHour: Invalid"},
		"a price in words": {head + "prices: [{gpuKind: a, perGPUHour: cheap}]", `Invalid value: "cheap"`},
		"a price with a currency": {head + "prices: [{gpuKind: a, perGPUHour: 1 EUR}]",
			"prices[0].perGPUHour: Invalid"},
		"too fine a price": {head + "prices: [{gpuKind: a, perGPUHour: '0.0000001'}]",
			"at most 6 decimals"},
		"too high a price": {head + "prices: [{gpuKind: a, perGPUHour: 1000000000}]", "below 1000000000"},
		"a price that is no number": {head + "prices: [{gpuKind: a, perGPUHour: {}}]",
			"prices[0].perGPUHour: Invalid"},
		"too many prices": {head + "prices: " + many("{gpuKind: k%d, perGPUHour: 1}", 1001),
			"prices: Too many"},
		"a currency in small":      {head + "currency: eur", "currency"},
		"no GPUs":                  {head + "gpus: []", "gpus: Required"},
		"a GPU without its domain": {head + "gpus: [gpu]", "gpus[0]: Invalid"},
		"a label with a space":     {head + "gpuKindLabels: ['a b']", "gpuKindLabels[0]"},
		"a label twice":            {head + "gpuKindLabels: [a, a]", "gpuKindLabels[1]: Duplicate"},
		"too many labels":          {head + "gpuKindLabels: " + many("l%d", 17), "gpuKindLabels: Too many"},
		"a label of racks twice": {
			head + "board: {topologyLabels: [rack, rack]}", "board.topologyLabels[1]: Duplicate"},
		"too many labels of racks": {
			head + "board: {topologyLabels: " + many("l%d", 17) + "}", "board.topologyLabels: Too many"},
		"an empty key of a user": {head + "userKeys: ['']", "userKeys[0]"},
		"reviews by a cluster that is not there": {
			head + "clusters: [{name: a}]\nidentity: {tokenReview: {cluster: b}}", `tokenReview.cluster: Unsupported`},
		"reviews by one that has no name": {head + "identity: {tokenReview: {cluster: b}}", `values: "default"`},
		"proxies without TLS": {head + "identity: {proxies: {clientCAFile: /ca.crt, names: [a]}}",
			"set listen.certificateDir"},
		"a login without a URL": {head + loginAt, "board.url: Required"},
		"a login without a board": {head + loginAt + "board: {enabled: false}",
			"identity.oidc[0].login.clientID: Invalid value"},
		"a board by plain HTTP": {head + "board: {url: 'http://board.example.com'}", "must be https"},
		"a board below a path":  {head + "board: {url: 'https://a.example.com/b'}", "the root of a host"},
		"a plain board with TLS": {head + "listen: {certificateDir: /a}\nboard: {url: 'http://localhost:8080'}",
			"the API has a certificate"},
		"a session for ever": {head + "board: {sessionHours: 0}", "board.sessionHours: Invalid"},
		"a link for everybody": {head + "listen: {bindAddress: ':80', insecure: true}\n" + link,
			"bind listen.bindAddress to a loopback address"},
		"a link to nothing":        {head + "listen: {bindAddress: '0'}\n" + link, "oneTimeLink.user: Invalid"},
		"a link without its board": {head + "board: {enabled: false, oneTimeLink: {user: a}}", "oneTimeLink.user"},
		"a link behind TLS": {head + "board: {url: 'https://a.example.com', oneTimeLink: {user: a}}",
			"a link with plain HTTP"},
		"a link without user":   {head + "board: {oneTimeLink: {groups: [a]}}", "oneTimeLink.user: Required"},
		"a link for the system": {head + "board: {oneTimeLink: {user: 'system:admin'}}", "begins with system:"},
		"a link for its masters": {head + "board: {oneTimeLink: {user: a, groups: ['system:masters']}}",
			"system:"},
		"a link in a relative file": {head + "board: {oneTimeLink: {user: a, file: b}}",
			"oneTimeLink.file: Invalid"},
		"metrics without a port": {head + "metrics: {bindAddress: a}", "metrics.bindAddress"},
		"a certificate without TLS": {head + "metrics: {secure: false, certificateDir: /a}",
			"set metrics.secure to true"},
		"a relative one of metrics": {head + "metrics: {certificateDir: a}", "metrics.certificateDir: Invalid"},
		"probes without a port":     {head + "health: {bindAddress: a}", "health.bindAddress"},
		"a password for all to read": {head + "database: {url: 'postgres://a:hush@db/history'}",
			"must not contain a password"},
		"a password as an option": {head + "database: {url: 'postgres://a@db/h?password=hush'}",
			"must not contain a password"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.yaml))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("want an error that names %q, got %v", tc.says, err)
			}
			if strings.Contains(fmt.Sprint(err), "hush") {
				t.Errorf("it repeats a password: %v", err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	if c, err := Load(""); err != nil || !cmp.Equal(c, Default()) || len(c.Validate()) > 0 {
		t.Errorf("no file means the defaults, which are valid; got %+v, %v, %v", c, err, c.Validate())
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(head+"nonsense: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an error must name the file, got %v", err)
	}
	if _, err := Load(path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want not exist, got %v", err)
	}
}

func TestDSN(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct {
		database   Database
		want, says string
	}{
		"none": {Database{}, DefaultDatabaseURL, ""},
		"here": {Database{URL: "sqlite:///a/b"}, "sqlite:///a/b", ""},
		"a mounted one": {Database{URLFile: file("a", "postgres://a:hush@db/h\n")},
			"postgres://a:hush@db/h", ""},
		"an empty file":   {Database{URLFile: file("b", "\n")}, "", "is empty"},
		"a file of lines": {Database{URLFile: file("c", "postgres://a:hush@db/h\nb")}, "", "cannot be read"},
		"of another kind": {Database{URLFile: file("d", "mysql://a:hush@db/h")}, "", "has an unknown scheme"},
		"a missing file":  {Database{URLFile: filepath.Join(dir, "e")}, "", "database.urlFile"},
	} {
		got, err := tc.database.DSN()
		if got != tc.want || (err != nil) != (tc.says != "") || !strings.Contains(fmt.Sprint(err), tc.says) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if strings.Contains(fmt.Sprint(err), "hush") {
			t.Errorf("%s: it repeats a password: %v", name, err)
		}
	}
}

// TestAmountIsExact: a tenth is a tenth.
func TestAmountIsExact(t *testing.T) {
	for text, want := range map[Amount]string{
		"0.1": "1/10", "2.75": "11/4", "0": "0/1", "1e3": "0/1", "": "0/1",
	} {
		if got := text.Rat().String(); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestPlainHTTP: only a loopback address or an explicit setting is without TLS.
func TestPlainHTTP(t *testing.T) {
	for yaml, want := range map[string]bool{
		"": true, "listen: {certificateDir: /a}": false, "listen: {bindAddress: ':80', insecure: true}": false,
		"board: {url: 'https://a.example.com'}":                                               false,
		"listen: {bindAddress: ':80', insecure: true}\nboard: {url: 'http://localhost:8080'}": true,
	} {
		c, err := Parse([]byte(head + yaml))
		if err != nil || c.PlainHTTP() != want {
			t.Errorf("%q: %t, %v", yaml, c.PlainHTTP(), err)
		}
	}
}

func TestAllClusters(t *testing.T) {
	if diff := cmp.Diff([]Cluster{{Name: "default"}}, Default().AllClusters()); diff != "" {
		t.Error(diff)
	}
	c := ServerConfiguration{Clusters: []Cluster{{Name: "a"}, {Name: "b"}}}
	if diff := cmp.Diff(c.Clusters, c.AllClusters()); diff != "" {
		t.Error(diff)
	}
}
