//go:build cluster

package server

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/postgres"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	// hostileJobs are in the namespace mallory: a third has a text that PostgreSQL rejects, a third one that
	// its indexes cannot hold, and a constraint, which stands for unknown causes, rejects a third.
	hostileJobs = 1000
	honestJobs  = 20
	mallory     = "mallory"
)

// TestHostileHistory: the history of one namespace is recorded in PostgreSQL while another one changes a
// thousand jobs whose records the database would reject, without a pause.
func TestHostileHistory(t *testing.T) {
	c, err := harness.Start(t.Context(), harness.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	addresses, release, err := harness.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	db, dsn := startDatabase(t)
	s := deployed(t, c, func(c *config.ServerConfiguration) {
		c.Database.URL = dsn
		c.Metrics.BindAddress, c.Metrics.Secure, c.Metrics.CertificateDir = addresses[0], false, ""
	})
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mallory}})
	ann := s.person(t, "ann", true)
	s.start(t)
	const constraint = `ALTER TABLE jobs ADD CONSTRAINT c CHECK (name NOT LIKE 'c-%')`
	if _, err := db.ExecContext(t.Context(), constraint); err != nil {
		t.Fatal(err)
	}
	s.floods(t, func(changes *atomic.Int64) { s.recordsHonest(t, ann, changes) })
	s.settles(t, db, addresses[0])
	s.stop(t)
}

// startDatabase returns an empty database of a real PostgreSQL, and its DSN.
func startDatabase(t *testing.T) (*sql.DB, string) {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	dsn, err := server.Create(t.Context(), "history")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, dsn
}

// newJob is suspended: nothing runs it.
func newJob(namespace, name, user string) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.AnnotationUser: user},
	}}
	j.Spec.Framework, j.Spec.Image = v1alpha1.FrameworkCustom, "example.com/trainer:1"
	j.Spec.Command, j.Spec.Replicas = []string{"train"}, new(int32(1))
	j.Spec.RunPolicy.Suspend = new(true)
	return j
}

// floods creates the hostile jobs and then changes them until play has returned. It passes the number of
// changes so far.
func (s *stack) floods(t *testing.T, play func(*atomic.Int64)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	var changes atomic.Int64
	created := make(chan struct{}, hostileJobs)
	const writers = 8
	for w := range writers {
		rng := rand.New(rand.NewPCG(uint64(w), 1))
		all.Go(func() error {
			var mine []*v1alpha1.TrainingJob
			for n := w; n < hostileJobs; n += writers {
				j := newJob(mallory, fmt.Sprintf("%c-%d", 'a'+rune(n%3), n), hostileUser(n, rng))
				if err := s.cluster.Client.Create(ctx, j); err != nil {
					return err
				}
				mine = append(mine, j)
				created <- struct{}{}
			}
			for n := 0; ctx.Err() == nil; n++ {
				patch := fmt.Appendf(nil, `{"metadata":{"labels":{"change":"%d"}}}`, n)
				err := s.cluster.Client.Patch(ctx, mine[n%len(mine)], client.RawPatch(types.MergePatchType, patch))
				if err != nil && ctx.Err() == nil {
					return err // the flood has not ended yet
				}
				changes.Add(1)
			}
			return nil
		})
	}
	for range hostileJobs {
		select {
		case <-created:
		case <-ctx.Done():
			t.Fatalf("the hostile client: %v", all.Wait())
		}
	}
	play(&changes)
	cancel()
	if err := all.Wait(); err != nil {
		t.Errorf("the hostile client: %v", err)
	}
}

// hostileUser is a text that a database would reject in a column of names.
func hostileUser(n int, rng *rand.Rand) string {
	switch n % 3 {
	case 0:
		return fmt.Sprintf("nul-\x00-%d", n)
	case 1: // 6 KB that PostgreSQL cannot compress
		long := make([]rune, 2000)
		for i := range long {
			long[i] = rune(0x4e00 + rng.IntN(0x5000))
		}
		return string(long)
	}
	return "constraint"
}

// recordsHonest creates jobs one after the other, each once the former is in the history, and logs how long
// that took while the other namespace kept changing its jobs.
func (s *stack) recordsHonest(t *testing.T, ann string, changes *atomic.Int64) {
	var lags, answers []time.Duration
	for n := range honestJobs {
		j := newJob("clever", fmt.Sprintf("honest-%d", n), "ann")
		before := changes.Load()
		s.create(t, j)
		made := time.Now()
		harness.Until(t, j.Name+" is in the history", func(context.Context) (string, error) {
			asked := time.Now()
			got := s.request(t, ann, "%{http_code}", cluster+"/history/jobs/"+string(j.UID))
			answers = append(answers, time.Since(asked))
			if got.last != "200" {
				return got.last, nil
			}
			return "", nil
		})
		lags = append(lags, time.Since(made))
		harness.Until(t, "the other namespace goes on", func(context.Context) (string, error) {
			if changes.Load() == before {
				return "no change", nil
			}
			return "", nil
		})
	}
	t.Logf("a record is read %v after its job was created, at most %v; an answer takes %v, at most %v; "+
		"meanwhile there were %d changes of others", median(lags), slices.Max(lags), median(answers),
		slices.Max(answers), changes.Load())
}

func median(all []time.Duration) time.Duration {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// settles: what can be stored is, with an entry in the accounting, and the rest is counted and logged.
func (s *stack) settles(t *testing.T, db *sql.DB, metrics string) {
	t.Helper()
	const stored = hostileJobs - hostileJobs/3
	harness.Until(t, "the other records are settled", func(ctx context.Context) (string, error) {
		var recorded, accounted int
		err := db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM jobs WHERE namespace = $1),
			(SELECT COALESCE(SUM(jobs), 0) FROM usage WHERE namespace = $1 AND grain = 7)`, mallory).
			Scan(&recorded, &accounted)
		pending := s.metric(t, metrics, "trainingjob_server_recorder_pending_jobs")
		if recorded != stored || accounted != stored || pending != "0" {
			return fmt.Sprintf("%d recorded, %d accounted, %s pending", recorded, accounted, pending), err
		}
		return "", err
	})
	if n := s.metric(t, metrics, "trainingjob_server_recorder_rejected_total"); n == "" || n == "0" {
		t.Errorf("%q records are counted as rejected", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(s.out.String(), "The database rejects the record of a job") {
		t.Error("the log has no rejected record")
	}
}

// metric returns the value of the first series of a metric; empty without one.
func (s *stack) metric(t *testing.T, address, name string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if series, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(series, name) {
			return value
		}
	}
	return ""
}
