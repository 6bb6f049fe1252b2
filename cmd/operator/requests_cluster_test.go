//go:build cluster

package main

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// requests stands between the operator and the API server, and notes which rights the requests need. A token
// passes through it.
type requests struct {
	// at is its URL.
	at   string
	mu   sync.Mutex
	used rights
}

func recordRequests(t *testing.T, admin *rest.Config) *requests {
	t.Helper()
	api, err := url.Parse(admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	anonymous := rest.AnonymousClientConfig(admin)
	transport, err := rest.TransportFor(anonymous)
	if err != nil {
		t.Fatal(err)
	}
	r := &requests{used: rights{}}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(req *httputil.ProxyRequest) {
			if right := used(req.In.Method, req.In.URL); right != "" {
				r.mu.Lock()
				r.used.Insert(right)
				r.mu.Unlock()
			}
			req.SetURL(api)
		},
		Transport: transport, FlushInterval: -1, // watches
	})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.at = server.URL
	return r
}

// notPlayed are parts of the rights that the run has no use for, and why they are granted.
var notPlayed = map[string]string{
	"kueue.x-k8s.io":                 "no job of Kueue is played here; TestScenariosOnKueue does",
	"persistentvolumeclaims":         "no job has checkpoints or claims here",
	"update trainingjobs/finalizers": "OwnerReferencesPermissionEnforcement alone asks for it",
	"get pods":                       "only after a create whose answer was lost, or whose name was taken",
	"get services":                   "likewise",
	"get podgroups":                  "likewise, and where a group was changed by others",
	"patch events":                   "an event that repeats",
}

// expectRightsUsed compares what is granted with what the run has used.
func (r *requests) expectRightsUsed(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var unused []string
	for right := range granted(shippedRules(t)) {
		explained := false
		for part := range notPlayed {
			explained = explained || strings.Contains(right, part)
		}
		if !explained && !r.used.Has(right) {
			unused = append(unused, right)
		}
	}
	if diff := cmp.Diff([]string(nil), unused); diff != "" {
		t.Errorf("granted, and neither used nor explained (-want +got):\n%s", diff)
	}
	if more := r.used.Difference(granted(shippedRules(t))); more.Len() > 0 {
		t.Errorf("used, and not granted: %v", more.UnsortedList())
	}
	t.Logf("used: %v", r.used.UnsortedList())
}
