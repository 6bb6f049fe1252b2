package checkpoint

import (
	"strings"
	"testing"
)

func TestURIsThatAreRefused(t *testing.T) {
	for uri, why := range map[string]string{
		"":                                       "no scheme",
		"/checkpoints/a":                         "no scheme",
		"http://bucket/a":                        "scheme http",
		"https://acct.blob.core.windows.net/c/a": "scheme https",
		"file:///etc/passwd":                     "scheme file",
		"PVC://claim/a":                          "scheme PVC",
		"pvc:///a":                               "a claim's name",
		"pvc://Claim/a":                          "a claim's name",
		"pvc://a..b/a":                           "a claim's name",
		"pvc://claim/../other":                   "has ..",
		"pvc://claim/a/./b":                      "has . in",
		"pvc://claim/a//b":                       "empty part",
		"pvc://claim//a":                         "empty part",
		"pvc://claim/%2e%2e/other":               "encoded",
		"pvc://claim/a%2fb":                      "encoded",
		`pvc://claim/a\..\b`:                     "not allowed",
		"pvc://claim/a?x=1":                      "not allowed",
		"pvc://claim/a#b":                        "not allowed",
		"pvc://claim/a b":                        "space",
		"pvc://claim/a\x00":                      "control",
		"pvc://claim/a\nb":                       "control",
		"pvc://claim/а":                          "beyond ASCII", // Cyrillic
		"s3://key:secret@bucket/a":               "credentials",
		"s3://key@bucket/a":                      "credentials",
		"s3://bucket/a?X-Amz-Signature=secret":   "not allowed",
		"s3://b/a":                               "bucket's name",
		"s3://bucket:9000/a":                     "bucket's name",
		"az://account/a":                         "container",
		"az://account":                           "container",
		"abfss://c:secret@account.dfs.core.windows.net/a":     "credentials",
		"abfss://container@evil.example.com/a":                "core.windows.net",
		"pvc://claim/" + strings.Repeat("a/", 600) + "a":      "bytes",
		"pvc://claim@host/a":                                  "credentials",
		"s3://bucket/..%252f":                                 "encoded",
		"gs://bucket/a/..":                                    "has ..",
		"pvc://claim/" + "..." + "/../..":                     "has ..",
		"\u202epvc://claim/a":                                 "beyond ASCII",
		"abfss://container@account.dfs.core.windows.net:80/a": "core.windows.net",
	} {
		u, err := ParseURI(uri)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: want %q, got %v, %v", uri, why, u, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: the error prints the secret: %v", uri, err)
		}
		if err != nil && strings.Contains(err.Error(), "=secret") {
			t.Errorf("%q: the error prints the secret: %v", uri, err)
		}
	}
}

func TestURIsThatAreTaken(t *testing.T) {
	for _, uri := range []string{
		"pvc://claim", "pvc://claim/a", "pvc://my.claim-1/bert/attempt-3/epoch=1-step=200.ckpt",
		"s3://my-bucket/a/b", "gs://my_bucket/a", "az://account/container",
		"az://account/container/a", "abfss://container@account.dfs.core.windows.net/a/b", "pvc://claim/...",
		"pvc://claim/a..b",
	} {
		u, err := ParseURI(uri)
		if err != nil || u.String() != uri {
			t.Errorf("%q: %v, %v", uri, u, err)
		}
	}
	if u, err := ParseURI("pvc://claim/a/"); err != nil || u.String() != "pvc://claim/a" {
		t.Errorf("a slash at the end: %v, %v", u, err)
	}
}

func TestUnder(t *testing.T) {
	for _, tc := range []struct {
		uri, base string
		want      bool
	}{
		{"pvc://c/a/b", "pvc://c/a", true},
		{"pvc://c/a", "pvc://c/a/", true},
		{"pvc://c/a", "pvc://c", true},
		{"pvc://c/ab", "pvc://c/a", false},
		{"pvc://c/a", "pvc://c/a/b", false},
		{"pvc://d/a/b", "pvc://c/a", false},
		{"s3://ccc/a/b", "gs://ccc/a", false},
		{"abfss://one@account.dfs.core.windows.net/a", "abfss://two@account.dfs.core.windows.net/a", false},
	} {
		u, err := ParseURI(tc.uri)
		b, err2 := ParseURI(tc.base)
		if err != nil || err2 != nil || u.Under(b) != tc.want {
			t.Errorf("%s under %s: want %v (%v, %v)", tc.uri, tc.base, tc.want, err, err2)
		}
	}
}

func TestMount(t *testing.T) {
	base, _ := ParseURI("pvc://claim/jobs/bert")
	m := Mount{Dir: "/checkpoints", URI: base}
	for path, want := range map[string]string{
		"/checkpoints":                  "pvc://claim/jobs/bert",
		"/checkpoints/attempt-1/step-5": "pvc://claim/jobs/bert/attempt-1/step-5",
		"/checkpoints/../etc":           "",
		"/checkpoint":                   "",
		"/checkpointsx/a":               "",
		"a":                             "",
		"/checkpoints//a":               "",
		"/checkpoints/a b":              "",
		"/checkpoints/a%2e":             "",
	} {
		u, err := m.URIOf(path)
		if want == "" && err == nil || want != "" && (err != nil || u.String() != want) {
			t.Errorf("%q: want %q, got %v, %v", path, want, u, err)
			continue
		}
		if want == "" {
			continue
		}
		if back, err := m.PathOf(u); err != nil || back != path {
			t.Errorf("%v leads to %q, %v", u, back, err)
		}
	}
	other, _ := ParseURI("pvc://claim/jobs/berta/x")
	if p, err := m.PathOf(other); err == nil {
		t.Errorf("another job's URI leads to %s", p)
	}
}
