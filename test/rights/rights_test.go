package rights_test

import (
	"net/url"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/test/rights"
)

func TestNeeded(t *testing.T) {
	const group = "/apis/mlplatform.example.com/v1alpha1"
	for text, want := range map[string]string{
		"GET /api/v1/nodes":                               "list nodes",
		"GET /api/v1/nodes?watch=true":                    "watch nodes",
		"GET /api/v1/namespaces/a/pods/p":                 "get pods",
		"DELETE /api/v1/namespaces/a/pods/p":              "delete pods",
		"PATCH " + group + "/namespaces/a/trainingjobs/j": "patch trainingjobs.mlplatform.example.com",
		"POST " + group + "/namespaces/a/trainingjobs":    "create trainingjobs.mlplatform.example.com",
		"PATCH " + group + "/namespaces/a/trainingjobs/j/status": "patch trainingjobs/status" +
			".mlplatform.example.com",
		"GET /api":     "",
		"GET /version": "",
	} {
		method, path, _ := strings.Cut(text, " ")
		at, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := rights.Needed(method, at); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
