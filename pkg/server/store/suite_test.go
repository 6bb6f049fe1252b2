package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/history/historytest"
)

// backend makes empty databases.
type backend interface {
	// database returns the DSN of a new one.
	database(t *testing.T) string
}

// suite is what holds on every database.
var suite = map[string]func(*testing.T, backend){
	"any order is stored as one record":       testAnyOrder,
	"usage is the sum of what is stored":      testUsageIsTheSum,
	"replicas":                                testReplicas,
	"killed writers":                          testKilled,
	"pages":                                   testPages,
	"filters":                                 testFilters,
	"bad cursors and bad queries":             testBadQueries,
	"accounting":                              testAccounting,
	"a queue that is known late":              testLateQueue,
	"what goes on is counted up to now":       testOpen,
	"retention":                               testPrune,
	"jobs that are gone":                      testGone,
	"runs":                                    testRuns,
	"leases":                                  testLeases,
	"sessions":                                testSessions,
	"sessions of one user":                    testSessionsOfOne,
	"sessions that are over":                  testPruneSessions,
	"samples":                                 testSamples,
	"hostile texts":                           testHostileTexts,
	"namespaces with one name":                testNamespaces,
	"records without namespaces":              testMigrateNamespaces,
	"a later version of the schema":           testLaterSchema,
	"an interrupted transaction is as if not": testRollback,
}

func runSuite(t *testing.T, b backend) {
	for name, test := range suite {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

func open(t *testing.T, dsn string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var options = history.Options{UserKeys: []string{"owner"}, GPUKind: func(job *v1alpha1.TrainingJob) string {
	if job.Status.Phase == v1alpha1.PhaseRunning {
		return "NVIDIA-A100"
	}
	return "nvidia.com/gpu"
}}

// played are the records of the versions of a job, in their order.
func played(seed uint64) []history.Record {
	var rs []history.Record
	for _, v := range historytest.Play(seed).Versions {
		rs = append(rs, history.Of("lab", v, options))
	}
	return rs
}

func joined(rs []history.Record) history.Record {
	var all history.Record
	for _, r := range rs {
		all = history.Merge(all, r)
	}
	return all
}

// whole is what is stored of a job, with its samples.
func whole(t *testing.T, s *Store, key history.Key) history.Record {
	t.Helper()
	r, err := s.Job(t.Context(), key)
	must(t, err)
	r.Samples, err = s.Samples(t.Context(), key, SamplesQuery{})
	must(t, err)
	return r
}

// testAnyOrder: whatever the order and the batches, what is stored is the Merge of all.
func testAnyOrder(t *testing.T, b backend) {
	s := open(t, b.database(t))
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 21))
		rs := played(seed)
		want := joined(rs)
		for range rng.IntN(20) {
			rs = append(rs, rs[rng.IntN(len(rs))])
		}
		rng.Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
		for len(rs) > 0 {
			n := min(len(rs), 1+rng.IntN(15))
			must(t, s.Record(t.Context(), rs[:n]))
			rs = rs[n:]
		}
		if diff := cmp.Diff(want, whole(t, s, want.Job.Key), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-merged +stored):\n%s", seed, diff)
		}
		got, err := s.JobNamed(t.Context(), "lab", "team-a", "bert")
		if must(t, err); got.Job.Namespace != "team-a" {
			t.Errorf("the job of that name is %+v", got.Job)
		}
	}
	usageIsTheSum(t, s)
}

// usageIsTheSum compares usage and the open spans with what they would be if they were computed again.
func usageIsTheSum(t *testing.T, s *Store) {
	t.Helper()
	want, open := usages{}, 0
	must(t, s.each(t.Context(), func(key history.Key) error {
		stored, err := load(t.Context(), s.reads, []history.Key{key}, nil)
		if err == nil {
			want.add(usageOf(&stored[key].record), 1)
			open += len(openSpans(&stored[key].record))
		}
		return err
	}))
	got := s.usages(t)
	for k, c := range want {
		if *c == (counters{}) {
			delete(want, k)
		}
	}
	for k, c := range got {
		if *c == (counters{}) {
			delete(got, k)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage (-of what is stored +kept):\n%s", diff)
	}
	var n int
	must(t, s.reads.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM open_spans`).Scan(&n))
	if n != open {
		t.Errorf("%d spans are kept as open, %d are", n, open)
	}
}

func (s *Store) each(ctx context.Context, fn func(history.Key) error) error {
	var keys []history.Key
	err := query(ctx, s.reads, func(rows *sql.Rows) error {
		var cluster, uid string
		err := rows.Scan(&cluster, &uid)
		keys = append(keys, keyOf(cluster, uid))
		return err
	}, `SELECT cluster, uid FROM jobs`)
	for _, k := range keys {
		err = errors.Join(err, fn(k))
	}
	return err
}

func (s *Store) usages(t *testing.T) usages {
	t.Helper()
	all := usages{}
	names := append(usageKeys[:len(usageKeys):len(usageKeys)], counterNames...)
	must(t, query(t.Context(), s.reads, func(rows *sql.Rows) error {
		var sc scanner
		if err := sc.read(rows, len(names)); err != nil {
			return err
		}
		k := usageKey{
			Cluster: sc.text(), Grain: grain(sc.int()), Start: sc.int(), Namespace: sc.text(),
			NamespaceUID: sc.text(), Queue: sc.text(), GPUKind: sc.text(), User: sc.text(), UID: sc.text(),
		}
		for i := range counters(*all.at(k)) {
			all[k][i] = sc.int()
		}
		return sc.err
	}, `SELECT `+strings.Join(names, ", ")+` FROM usage`))
	return all
}

func testUsageIsTheSum(t *testing.T, b backend) {
	s := open(t, b.database(t))
	rng := rand.New(rand.NewPCG(3, 22))
	var all []history.Record
	var counted v1alpha1.WorkStatus
	for seed := range uint64(20) {
		rs := played(seed)
		all = append(all, rs...)
		if w := rs[len(rs)-1].Job.Work; w != nil {
			counted.LostGPUSeconds += w.LostGPUSeconds
			counted.Asked, counted.Saved = counted.Asked+w.Asked, counted.Saved+w.Saved
			counted.PreemptedLostGPUSeconds += w.PreemptedLostGPUSeconds
			counted.RoomMade, counted.RoomSeconds = counted.RoomMade+w.RoomMade, counted.RoomSeconds+w.RoomSeconds
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for len(all) > 0 {
		n := min(len(all), 1+rng.IntN(200))
		must(t, s.Record(t.Context(), all[:n]))
		all = all[n:]
	}
	usageIsTheSum(t, s)
	used, err := s.Accounting(t.Context(), AccountingQuery{
		Cluster: "lab", From: day(-1), To: day(30), Now: day(30), By: []Dimension{ByUser},
	})
	if must(t, err); len(used) != 1 || used[0].Jobs != 20 || used[0].User != "ada" || used[0].GPUSeconds == 0 {
		t.Fatalf("used: %+v", used)
	}
	reported := v1alpha1.WorkStatus{
		LostGPUSeconds: used[0].LostGPUSeconds, Asked: int32(used[0].Asked), Saved: int32(used[0].Saved),
		PreemptedLostGPUSeconds: used[0].PreemptedLostGPUSeconds, RoomMade: int32(used[0].RoomMade),
		RoomSeconds: used[0].RoomSeconds,
	}
	if diff := cmp.Diff(counted, reported); diff != "" || counted.Saved == 0 || counted.RoomMade == 0 {
		t.Errorf("reported (-counted by the jobs +reported):\n%s", diff)
	}
}

// day is the beginning of a day, counted from that on which every history begins.
func day(n int) time.Time { return dayOf(historytest.Epoch).AddDate(0, 0, n) }

// testReplicas: several processes write the same histories, each in its order.
func testReplicas(t *testing.T, b backend) {
	dsn := b.database(t)
	const replicas, histories = 3, 8
	done := make(chan error, replicas)
	for n := range replicas {
		s := open(t, dsn)
		go func() {
			rng := rand.New(rand.NewPCG(uint64(n), 23))
			var all []history.Record
			for seed := range uint64(histories) {
				all = append(all, played(seed)...)
			}
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for len(all) > 0 {
				k := min(len(all), 1+rng.IntN(40))
				if err := s.Record(t.Context(), all[:k]); err != nil {
					done <- err
					return
				}
				all = all[k:]
			}
			done <- nil
		}()
	}
	for range replicas {
		must(t, <-done)
	}
	s := open(t, dsn)
	for seed := range uint64(histories) {
		want := joined(played(seed))
		if diff := cmp.Diff(want, whole(t, s, want.Job.Key), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-merged +stored):\n%s", seed, diff)
		}
	}
	usageIsTheSum(t, s)
}

// testRollback: an error in the middle of a transaction leaves nothing of it.
func testRollback(t *testing.T, b backend) {
	s := open(t, b.database(t))
	rs := played(1)
	want := errors.New("the end")
	err := s.write(t.Context(), "writing", func(tx *sql.Tx) error {
		news := map[history.Key]history.Record{rs[0].Job.Key: joined(rs)}
		if err := s.record(t.Context(), tx, []history.Key{rs[0].Job.Key}, news); err != nil {
			return err
		}
		return want
	})
	if !errors.Is(err, want) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Job(t.Context(), rs[0].Job.Key); !errors.Is(err, ErrNotFound) {
		t.Errorf("something is stored: %v", err)
	}
	if n := len(s.usages(t)); n > 0 {
		t.Errorf("%d rows of usage are stored", n)
	}
	must(t, s.Record(t.Context(), rs))
	usageIsTheSum(t, s)
}

// testLaterSchema: a program must not write what it does not know.
func testLaterSchema(t *testing.T, b backend) {
	dsn := b.database(t)
	s := open(t, dsn)
	must(t, s.Writable(t.Context()))
	must(t, s.Ping(t.Context()))
	_, err := s.writes.ExecContext(t.Context(),
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, $1)`, true)
	must(t, err)
	_, err = Open(t.Context(), Options{DSN: dsn})
	if err == nil || !strings.Contains(err.Error(), "version 99999") {
		t.Errorf("error %v", err)
	}
}

// testHostileTexts: whatever a caller writes into a job, its record is stored and accounted.
func testHostileTexts(t *testing.T, b backend) {
	s := open(t, b.database(t))
	rng := rand.New(rand.NewPCG(1, 25))
	random := func(n int) string { // a database cannot compress it
		text := make([]rune, n)
		for i := range text {
			text[i] = rune(0x4e00 + rng.IntN(0x5000))
		}
		return string(text)
	}
	for n, text := range []string{"a\x00b", "c\xffd", random(2_000), random(100_000)} {
		job := historytest.Play(uint64(n)).Versions[0].DeepCopy()
		job.UID, job.Annotations = types.UID(fmt.Sprintf("hostile-%d", n)), map[string]string{"owner": text}
		job.Status.Message, job.Status.Attempt = text, 1
		job.Status.Scheduling = &v1alpha1.SchedulingStatus{Queue: text, Blocker: &v1alpha1.Blocker{Reason: text}}
		job.Status.Progress = &v1alpha1.ProgressStatus{
			Attempt: 1, Epoch: text, Metrics: map[string]string{text: text},
		}
		job.Status.Checkpoint = &v1alpha1.CheckpointStatus{Latest: &v1alpha1.CheckpointPoint{URI: text, Step: 1}}
		job.Status.Phase = v1alpha1.PhaseRunning
		job.Status.Transitions = []v1alpha1.Transition{{
			Time: job.CreationTimestamp, Phase: v1alpha1.PhaseRunning, Reason: text,
		}}
		r := history.Of("lab", job, options)
		must(t, s.Record(t.Context(), []history.Record{r}))
		page, err := s.Jobs(t.Context(), JobsQuery{Cluster: "lab", User: r.Job.User})
		if must(t, err); uids(page.Jobs) != string(job.UID) {
			t.Errorf("the jobs of %.10q are %s", r.Job.User, uids(page.Jobs))
		}
	}
	used, err := s.Accounting(t.Context(), AccountingQuery{
		Cluster: "lab", From: day(-1), To: day(30), Now: day(30), By: []Dimension{ByUser},
	})
	if must(t, err); len(used) < 3 {
		t.Errorf("used: %+v", used)
	}
	usageIsTheSum(t, s)
}

// testNamespaces: a namespace does not show the jobs, nor the usage, of a former one with its name.
func testNamespaces(t *testing.T, b backend) {
	s := open(t, b.database(t))
	rs := []history.Record{}
	for n, uid := range []string{"former", "", "", "now"} {
		r := small{
			uid: fmt.Sprintf("u%d", n), namespace: "team-a", name: "x", user: fmt.Sprintf("user-%d", n),
			phase: v1alpha1.PhaseSucceeded, created: day(n), ran: 3600, gpus: 1,
		}.record()
		r.Job.NamespaceUID = types.UID(uid)
		rs = append(rs, r)
	}
	running := small{
		uid: "runs", namespace: "team-a", user: "former", phase: v1alpha1.PhaseRunning, created: day(0), gpus: 1,
	}.record()
	running.Job.NamespaceUID = "former"
	must(t, s.Record(t.Context(), append(rs, running)))
	usageIsTheSum(t, s)
	now := history.Namespace{Name: "team-a", UID: "now", Created: day(1).Add(time.Hour)}
	many := []history.Namespace{now}
	for n := range 2 * maxBranches {
		many = append(many, history.Namespace{Name: fmt.Sprint("other-", n), UID: "x", Created: day(0)})
	}
	for name, tc := range map[string]struct {
		namespaces []history.Namespace
		jobs       string
		users      int
	}{
		"all":               {nil, "u3 u2 u1 u0 runs", 5},
		"any with the name": {named("team-a"), "u3 u2 u1 u0 runs", 5},
		"the current one":   {[]history.Namespace{now}, "u3 u2", 2},
		"of many":           {many, "u3 u2", 2},
		"another":           {many[1:], "", 0},
	} {
		page, err := s.Jobs(t.Context(), JobsQuery{Cluster: "lab", Namespaces: tc.namespaces})
		if must(t, err); uids(page.Jobs) != tc.jobs {
			t.Errorf("%s: jobs %s, want %s", name, uids(page.Jobs), tc.jobs)
		}
		for _, by := range [][]Dimension{{ByUser}, {ByUser, ByJob}} {
			used, err := s.Accounting(t.Context(), AccountingQuery{
				Cluster: "lab", Namespaces: tc.namespaces, From: day(0), To: day(31), Now: day(9), By: by,
			})
			if must(t, err); len(used) != tc.users {
				t.Errorf("%s: by %v are used %+v", name, by, used)
			}
		}
	}
}

// testMigrateNamespaces: what was recorded before namespaces were distinguished stays, and is completed
// when the job is recorded again.
func testMigrateNamespaces(t *testing.T, b backend) {
	dsn := b.database(t)
	s := open(t, dsn)
	old := small{
		uid: "a", namespace: "team-a", name: "x", user: "ada", phase: v1alpha1.PhaseRunning, created: day(0),
		gpus: 8,
	}
	record(t, s, old)
	ask := func(s *Store) []Usage {
		t.Helper()
		used, err := s.Accounting(t.Context(), AccountingQuery{
			Cluster: "lab", From: day(0), To: day(31), Now: day(9), By: []Dimension{ByUser},
		})
		must(t, err)
		return used
	}
	want := ask(s)
	migrations, err := s.migrations()
	must(t, err)
	_, err = migrations.DownTo(t.Context(), 3)
	must(t, err)
	s = open(t, dsn)
	if diff := cmp.Diff(want, ask(s)); diff != "" {
		t.Errorf("after the migration:\n%s", diff)
	}
	again := old.record()
	again.Job.NamespaceUID = "now"
	must(t, s.Record(t.Context(), []history.Record{again}))
	usageIsTheSum(t, s)
	if diff := cmp.Diff(want, ask(s)); diff != "" {
		t.Errorf("recorded again:\n%s", diff)
	}
	page, err := s.Jobs(t.Context(), JobsQuery{
		Cluster: "lab", Namespaces: []history.Namespace{{Name: "team-a", UID: "now", Created: day(3)}},
	})
	if must(t, err); uids(page.Jobs) != "a" {
		t.Errorf("jobs %s", uids(page.Jobs))
	}
}

// small is a record that is easy to count with.
type small struct {
	uid, namespace, name, user, queue string
	phase                             v1alpha1.Phase
	created                           time.Time
	queued, ran                       int // seconds; no end where the phase is not final
	gpus                              int64
	deleted                           *time.Time
}

func (r small) record() history.Record {
	at := r.created
	attempt := history.Attempt{
		Number: 1, Seen: true, ResourceVersion: "5", GPUs: r.gpus, GPUKind: "A100", Queue: r.queue,
	}
	rec := history.Record{Job: history.Job{
		Key: history.Key{Cluster: "lab", UID: types.UID(r.uid)}, Namespace: r.namespace, Name: r.name, User: r.user,
		Queue: r.queue, ResourceVersion: "5", Phase: r.phase, GPUs: r.gpus, GPUKind: "A100", Attempt: 1,
		Created: at, Deleted: r.deleted, Manifest: []byte(`{"spec":{}}`),
	}}
	add := func(phase v1alpha1.Phase, reason string) {
		rec.Transitions = append(rec.Transitions, history.Transition{
			Time: at, Phase: phase, Reason: reason, Attempt: 1,
		})
	}
	add(v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
	if at = at.Add(time.Duration(r.queued) * time.Second); r.phase != v1alpha1.PhaseQueued {
		add(v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
	}
	if at = at.Add(time.Duration(r.ran) * time.Second); r.phase.Finished() {
		add(r.phase, v1alpha1.ReasonCompleted)
		rec.Job.Completed = &at
	}
	rec.Attempts = []history.Attempt{attempt}
	return history.Merge(rec, history.Record{Job: history.Job{Key: rec.Job.Key, Deleted: r.deleted}})
}

func record(t *testing.T, s *Store, all ...small) {
	t.Helper()
	var rs []history.Record
	for _, r := range all {
		rs = append(rs, r.record())
	}
	must(t, s.Record(t.Context(), rs))
}

// named are namespaces that are not distinguished from others with their names.
func named(names ...string) []history.Namespace {
	all := []history.Namespace{}
	for _, name := range names {
		all = append(all, history.Namespace{Name: name})
	}
	return all
}

func uids(jobs []history.Job) string {
	var all []string
	for _, j := range jobs {
		all = append(all, string(j.UID))
	}
	return strings.Join(all, " ")
}

// many jobs, some created in the same second.
func many(n int) []small {
	rng := rand.New(rand.NewPCG(uint64(n), 24))
	phases := []v1alpha1.Phase{
		v1alpha1.PhaseQueued, v1alpha1.PhaseRunning, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed,
	}
	all := make([]small, n)
	for i := range all {
		all[i] = small{
			uid: fmt.Sprintf("u%03d", i), namespace: fmt.Sprintf("team-%d", rng.IntN(4)),
			name: fmt.Sprintf("job-%d", rng.IntN(10)), user: fmt.Sprintf("user-%d", rng.IntN(5)),
			queue: fmt.Sprintf("queue-%d", rng.IntN(3)), phase: phases[rng.IntN(len(phases))],
			created: historytest.Epoch.Add(time.Duration(rng.IntN(n/2)) * time.Minute), queued: rng.IntN(90000),
			ran: rng.IntN(200000), gpus: int64(rng.IntN(9)),
		}
		if all[i].phase.Finished() && rng.IntN(2) == 0 {
			all[i].deleted = new(all[i].created.AddDate(0, 0, 7))
		}
	}
	return all
}
