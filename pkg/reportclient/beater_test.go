package reportclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestBeatURL(t *testing.T) {
	for reports, want := range map[string]string{
		"https://operator.ns.svc:9443/v1/reports":      "https://operator.ns.svc:9443/v1/beats",
		"https://operator.example.com/v1/reports?a=$b": "https://operator.example.com/v1/beats",
		"https://127.0.0.1:5":                          "https://127.0.0.1:5/v1/beats",
	} {
		if got, err := BeatURL(reports); got != want || err != nil {
			t.Errorf("%s: got %s, want %s: %v", reports, got, want, err)
		}
	}
	if got, err := BeatURL("https://a b/\x00"); err == nil {
		t.Errorf("got %s", got)
	}
}

// TestBeatIntervals also shows the pace against a server that takes no beats.
func TestBeatIntervals(t *testing.T) {
	var err error
	seconds := int32(50)
	var failures []string
	b := &Beater{
		Post: func(context.Context, checkpoint.Beat) (*checkpoint.BeatAnswer, error) {
			return &checkpoint.BeatAnswer{MinIntervalSeconds: seconds}, err
		},
		Beat:    func() checkpoint.Beat { return checkpoint.Beat{Attempt: 1} },
		OnError: func(err error) { failures = append(failures, fmt.Sprint(err)) },
		jitter:  func() float64 { return 1 },
	}
	for _, step := range []struct {
		err   error
		times int
		want  string
	}{
		{nil, 1, "[55s]"},
		{errors.New("no leader"), 7, "[2s 4s 8s 16s 32s 1m0s 1m0s]"},
		{&rejection{text: "busy", code: 503, retryAfter: 200 * time.Second}, 1, "[3m20s]"},
		{nil, 1, "[55s]"},
		{&rejection{text: "unknown path", code: 404}, 2, "[11m0s 11m0s]"},
		{&rejection{text: "not watched", code: 403}, 1, "[11m0s]"},
		{errors.New("gone"), 1, "[2s]"},
	} {
		err = step.err
		var waits []time.Duration
		for range step.times {
			waits = append(waits, b.postOnce(t.Context()))
		}
		if got := fmt.Sprint(waits); got != step.want {
			t.Errorf("%v: waits %s, want %s", step.err, got, step.want)
		}
	}
	want := "[no leader busy <nil> unknown path not watched gone]"
	if got := fmt.Sprint(failures); got != want {
		t.Errorf("each error is reported once: %s, want %s", got, want)
	}
	b.jitter = func() float64 { return 0 }
	if err = nil; b.postOnce(t.Context()) != 45*time.Second {
		t.Error("the interval is not shortened by a tenth")
	}
}

// TestBeatsAreSpread: all ranks of a gang start together, and their first beats do not.
func TestBeatsAreSpread(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var waits []time.Duration
	b := &Beater{
		Post: func(context.Context, checkpoint.Beat) (*checkpoint.BeatAnswer, error) {
			return &checkpoint.BeatAnswer{MinIntervalSeconds: 30}, nil
		},
		Beat: func() checkpoint.Beat { return checkpoint.Beat{} }, OnError: func(error) {},
		After: func(d time.Duration) <-chan time.Time {
			if waits = append(waits, d); len(waits) == 2 {
				cancel()
				return nil
			}
			fired := make(chan time.Time, 1)
			fired <- time.Time{}
			return fired
		},
		jitter: func() float64 { return 0.75 },
	}
	b.Run(ctx)
	if got := fmt.Sprint(waits); got != "[45s 31.5s]" {
		t.Errorf("waits %s", got)
	}
}

// TestBeatsKeepNoConnection, since the server keeps connections for reports.
func TestBeatsKeepNoConnection(t *testing.T) {
	closes, body := 0, ""
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Close {
			closes++
		}
		data := make([]byte, 100)
		n, _ := r.Body.Read(data)
		body = r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(data[:n])
		w.Write([]byte(`{"minIntervalSeconds":50}`))
	}))
	defer s.Close()
	c := clientOf(s)
	url, err := BeatURL(s.URL + reportsPath)
	if err != nil {
		t.Fatal(err)
	}
	c.URL = url
	a, err := c.PostBeat(t.Context(), checkpoint.Beat{Attempt: 2, IdleSeconds: 1.5})
	if err != nil || a.MinIntervalSeconds != 50 {
		t.Fatalf("%+v, %v", a, err)
	}
	if want := `/v1/beats Bearer token {"attempt":2,"idleSeconds":1.5}`; body != want || closes != 1 {
		t.Errorf("got %q, want %q; %d connections were closed", body, want, closes)
	}
	if _, err := c.PostBeat(t.Context(), checkpoint.Beat{}); err == nil {
		t.Error("a beat without an attempt was sent")
	}
}
