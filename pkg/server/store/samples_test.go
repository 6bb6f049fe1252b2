package store

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// testSamples: more samples than are kept, some of them reported again, in any order and in small parts, are
// stored as if they had come at once; pages of them are the whole.
func testSamples(t *testing.T, b backend) {
	s := open(t, b.database(t))
	job := small{uid: "a", namespace: "n1", name: "x", created: day(0)}.record()
	rng := rand.New(rand.NewPCG(1, 27))
	parts := []history.Record{job}
	for i := range 1500 {
		parts = append(parts, history.Record{Job: job.Job, Samples: []history.Sample{{
			Attempt: 1 + rng.Int32N(2), Step: rng.Int64N(900), Time: day(0).Add(time.Duration(i) * time.Second),
			Percent: new(int32(i % 100)), Epoch: "0.5", Metrics: map[string]string{"loss": "1.5"},
		}}})
	}
	want := joined(parts).Samples
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for len(parts) > 0 {
		n := min(len(parts), 1+rng.IntN(40))
		must(t, s.Record(t.Context(), parts[:n]))
		parts = parts[n:]
	}
	got, err := s.Samples(t.Context(), job.Job.Key, SamplesQuery{})
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-merged +stored):\n%s", diff)
	}
	var pages, second []history.Sample
	for q := (SamplesQuery{Limit: 70}); ; {
		page, err := s.Samples(t.Context(), job.Job.Key, q)
		must(t, err)
		if len(page) == 0 {
			break
		}
		pages = append(pages, page...)
		last := page[len(page)-1]
		q.After = &SamplePosition{Attempt: last.Attempt, Step: last.Step}
	}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("(-whole +pages):\n%s", diff)
	}
	for _, sample := range want {
		if sample.Attempt == 2 {
			second = append(second, sample)
		}
	}
	got, err = s.Samples(t.Context(), job.Job.Key, SamplesQuery{Attempt: 2})
	must(t, err)
	if diff := cmp.Diff(second, got); diff != "" {
		t.Errorf("of one attempt (-want +got):\n%s", diff)
	}
}
