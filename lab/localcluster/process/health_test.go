package process

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestWaitEndsWhenTheAnswerIs200(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	p := start(t, shell(t, "exec sleep 60"))
	p.Health = server.URL
	if err := (Prober{server.Client()}).Wait(t.Context(), p); err != nil || asked.Load() < 3 {
		t.Errorf("asked %d times, got %v", asked.Load(), err)
	}
}

func TestAnInterruptIsNoFaultOfTheProcess(t *testing.T) {
	p := start(t, shell(t, "exec sleep 60"))
	p.Health = "http://127.0.0.1:1/"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Prober{http.DefaultClient}.Wait(ctx, p)
	if err == nil || strings.Contains(err.Error(), "the end of") {
		t.Errorf("got %v", err)
	}
}

func TestFailedChecks(t *testing.T) {
	const list = "[+]ping ok\n[-]rbac failed: reason withheld\n[+]etcd ok\n[-]b failed\nreadyz check failed\n"
	for body, want := range map[string]string{
		list:        "[-]rbac failed: reason withheld, [-]b failed",
		"not yet\n": "not yet",
	} {
		if got := failedChecks(body); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
