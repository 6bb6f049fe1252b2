package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestReportsURL: tokens are sent to the URL, so it names a host and nothing that could lead elsewhere.
func TestReportsURL(t *testing.T) {
	for _, good := range []string{
		"https://trainingjob-reports.trainingjob-system.svc:9443", "https://reports.example.com",
		"https://reports.example.com/",
		"https://10.0.0.1:9443", "https://[fd00::1]:9443",
	} {
		if problem := urlProblem(good); problem != "" {
			t.Errorf("%s %s", good, problem)
		}
	}
	for bad, says := range map[string]string{
		"http://reports.example.com":               "https",
		"file:///etc/passwd":                       "https",
		"reports.example.com:9443":                 "https",
		"https://":                                 "a host name",
		"https://:9443":                            "a host name",
		"https://a b":                              "cannot be read",
		"https://Reports_1":                        "a host name",
		"https://user:hush@reports.example.com":    "credentials",
		"https://user@reports.example.com":         "credentials",
		"https://reports.example.com/v1/reports":   "a path",
		"https://reports.example.com/../x":         "a path",
		"https://reports.example.com/%2e%2e":       "a path",
		"https://reports.example.com//":            "a path",
		"https://reports.example.com?to=elsewhere": "a query",
		"https://reports.example.com?":             "a query",
		"https://reports.example.com#x":            "a fragment",
		"https://reports.example.com#":             "a fragment",
		"https://reports.example.com:0":            "a port",
		"https://reports.example.com:":             "a port",
		"https://reports.example.com:99999":        "a port",
	} {
		if problem := urlProblem(bad); !strings.Contains(problem, says) {
			t.Errorf("%s: want %q, got %q", bad, says, problem)
		}
	}
}

// TestReports: what is wrong is named with its key and a remedy, and credentials are not repeated.
func TestReports(t *testing.T) {
	const on = `bindAddress: ":9443", url: "https://reports.example.com", certificateDir: /certs`
	for name, tc := range map[string]struct {
		keys string
		says []string
	}{
		"on":                 {on, nil},
		"off, with the rest": {strings.Replace(on, ":9443", "0", 1), nil},
		"on, and nothing else": {`bindAddress: ":9443"`,
			[]string{"reports.url: Required", "reports.certificateDir: Required", "deploy/reports",
				`bindAddress "0"`}},
		"no port": {strings.Replace(on, ":9443", "localhost", 1), []string{"reports.bindAddress"}},
		"a relative directory": {strings.Replace(on, "/certs", "certs", 1), []string{"reports.certificateDir",
			"absolute"}},
		"a directory with ..": {strings.Replace(on, "/certs", "/a/../certs", 1),
			[]string{"reports.certificateDir", "absolute"}},
		"credentials in the URL": {strings.Replace(on, "https://", "https://user:hush@", 1),
			[]string{"reports.url", "credentials"}},
		"off, and a bad URL":     {`url: "http://reports.example.com"`, []string{"reports.url", "https"}},
		"no audience":            {on + `, audience: ""`, []string{"reports.audience"}},
		"an audience with space": {on + `, audience: "a b"`, []string{"reports.audience"}},
		"an unknown key":         {on + `, cert: x`, []string{"cert"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head + "reports: {" + tc.keys + "}"))
			if (err == nil) != (len(tc.says) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, says := range tc.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("want %q in %v", says, err)
				}
			}
			if strings.Contains(fmt.Sprint(err), "hush") {
				t.Errorf("it repeats credentials: %v", err)
			}
		})
	}
}
