package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// fakeCluster is a cluster without processes, as its state file says.
func fakeCluster(t *testing.T, dir, creator string) *localcluster.Cluster {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	state := fmt.Sprintf(`{"version":1,"ready":true,"creator":%q}`, creator)
	for name, content := range map[string]string{"state.json": state, "localcluster.lock": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cluster, err := localcluster.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func TestGetCluster(t *testing.T) {
	refused := errors.New("no connection")
	cases := map[string]struct {
		reason  string
		up      bool // a cluster is up before the demo
		creator string
		serves  bool
		err     error // of asking the cluster for its kinds

		wantFound, wantReplaced bool
		wantLine                string   // on the progress, "" for none
		wantError               []string // parts of it
	}{
		"none is up": {
			reason: "one is brought up", creator: "demo",
		},
		"one of a demo serves the scheduler": {
			reason: "it is used", up: true, creator: "demo", serves: true,
			wantFound: true, wantLine: "is up; the demo uses it.",
		},
		"one of up serves the scheduler": {
			reason: "it is used", up: true, creator: "up", serves: true,
			wantFound: true, wantLine: "is up; the demo uses it.",
		},
		"one of a demo lacks the scheduler": {
			reason: "it is the demo's to replace", up: true, creator: "demo",
			wantReplaced: true, wantLine: "which an earlier demo left, runs without scheduler kueue: ending it",
		},
		"one of up lacks the scheduler": {
			reason: "it is never touched", up: true, creator: "up",
			wantError: []string{"no demo created", "without scheduler kueue", "bin/localcluster down --dir "},
		},
		"one of unknown origin lacks the scheduler": {
			reason: "an older program brought it up, perhaps by up", up: true,
			wantError: []string{"bin/localcluster down --dir ", "-kueue"},
		},
		"one that does not answer": {
			reason: "it may serve the scheduler", up: true, creator: "demo", err: refused,
			wantError: []string{"no connection"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cluster")
			var progress strings.Builder
			ups := 0
			source := clusterSource{
				scheduler: "kueue", progress: &progress,
				up: func(context.Context) (*localcluster.Cluster, error) {
					ups++
					if c.up && ups == 1 {
						return fakeCluster(t, dir, c.creator), localcluster.ErrRunning
					}
					if _, err := os.Stat(dir); !os.IsNotExist(err) {
						t.Errorf("something is left of the old cluster: %v", err)
					}
					return fakeCluster(t, dir, clusterCreator), nil
				},
				serves: func(*localcluster.Cluster) (bool, error) { return c.serves, c.err },
			}
			got, err := source.get(t.Context())
			for _, part := range c.wantError {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q in it: %s", err, part, c.reason)
				}
			}
			if lines := strings.Count(progress.String(), "\n"); lines > 1 || (lines == 1) != (c.wantLine != "") ||
				!strings.Contains(progress.String(), c.wantLine) {
				t.Errorf("printed %q, want %q in one line", progress.String(), c.wantLine)
			}
			if c.wantError != nil {
				if _, err := os.Stat(filepath.Join(dir, "state.json")); err != nil || ups != 1 {
					t.Errorf("the cluster was touched: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer got.lock.Close()
			if got.found != c.wantFound || (ups == 2) != c.wantReplaced {
				t.Errorf("found %v, brought up %d times: %s", got.found, ups, c.reason)
			}
			if _, err := filelock.Try(got.lock.Name()); !errors.Is(err, filelock.ErrLocked) {
				t.Errorf("another demo could play on it: %v", err)
			}
		})
	}
}

// A demo must not replace a cluster on which another demo plays.
func TestGetWhileAnotherDemoPlays(t *testing.T) {
	cluster := fakeCluster(t, filepath.Join(t.TempDir(), "cluster"), clusterCreator)
	lock, err := filelock.Try(filepath.Join(cluster.LogDir(), "demo.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	source := clusterSource{
		scheduler: "kueue", progress: &strings.Builder{},
		up: func(context.Context) (*localcluster.Cluster, error) { return cluster, localcluster.ErrRunning },
	}
	if _, err := source.get(t.Context()); err == nil || !strings.Contains(err.Error(), "another demo plays") {
		t.Errorf("got %v", err)
	}
}

// The first run builds what its story needs: the components of one scheduler.
func TestClusterOptionsHaveOneScheduler(t *testing.T) {
	for scheduler := range schedulerKinds() {
		o := Options{Scheduler: scheduler}.cluster("root")
		if len(o.Schedulers) != 1 || o.Schedulers[0] != scheduler || o.Creator != clusterCreator {
			t.Errorf("%s: asks for %v, creator %q", scheduler, o.Schedulers, o.Creator)
		}
	}
}
