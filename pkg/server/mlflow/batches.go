package mlflow

import (
	"context"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

func (e *Exporter) sendParameters(ctx context.Context, s *sending, all []pair) error {
	fresh := slices.DeleteFunc(slices.Clone(all), func(p pair) bool {
		_, sent := s.Parameters[p.Key] // parameters cannot change
		return sent
	})
	for chunk := range slices.Chunk(fresh, maxParameters) {
		refused, err := batch(ctx, e, s, chunk, func(part []pair) error {
			return e.client.logBatch(ctx, s.run.RunID, part, nil, nil)
		})
		if err != nil {
			return err
		}
		e.metrics.refuse(refusedParameter, len(refused))
		for _, p := range chunk {
			if s.Parameters == nil {
				s.Parameters = map[string]string{}
			}
			s.Parameters[p.Key] = p.Value
		}
		for _, p := range refused {
			e.log.Info("MLflow rejected a parameter: it has another value, or exceeds a limit of the "+
				"tracking server",
				"run", s.run.RunID, "parameter", p.Key)
		}
	}
	return nil
}

// sendTags sends the tags that changed. A removed tag gets an empty value.
func (e *Exporter) sendTags(ctx context.Context, s *sending, tags map[string]string) error {
	var fresh []pair
	for _, p := range pairs(tags) {
		if sent, is := s.Tags[p.Key]; !is || sent != p.Value {
			fresh = append(fresh, p)
		}
	}
	for _, p := range pairs(s.Tags) {
		if _, is := tags[p.Key]; !is && strings.HasPrefix(p.Key, tagPrefix) && p.Value != "" {
			fresh = append(fresh, pair{p.Key, ""})
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	refused, err := batch(ctx, e, s, fresh, func(part []pair) error {
		return e.client.logBatch(ctx, s.run.RunID, nil, part, nil)
	})
	if err != nil {
		return err
	}
	e.metrics.refuse(refusedTag, len(refused))
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
	for _, p := range fresh {
		s.Tags[p.Key] = p.Value
	}
	return nil
}

// sendMeasurements sends the samples after one; nil: all.
func (e *Exporter) sendMeasurements(ctx context.Context, s *sending, after *store.SamplePosition) error {
	for {
		samples, err := e.store.Samples(ctx, s.run.Key, store.SamplesQuery{After: after, Limit: store.MaxPage})
		if err != nil {
			return err
		}
		if len(samples) == 0 {
			return nil
		}
		all, bad := measurementsOf(samples)
		for chunk := range slices.Chunk(all, maxMetrics) {
			refused, err := batch(ctx, e, s, chunk, func(part []measurement) error {
				return e.client.logBatch(ctx, s.run.RunID, nil, nil, part)
			})
			if err != nil {
				return err
			}
			bad += len(refused)
		}
		last := samples[len(samples)-1]
		after = &store.SamplePosition{Attempt: last.Attempt, Step: last.Step}
		if s.Sample == nil || behind(*after, *s.Sample) {
			s.Sample = after
			e.metrics.refuse(refusedMetric, bad)
			e.metrics.sent(e.clock.Since(last.Time))
		}
		if len(samples) < store.MaxPage {
			return nil
		}
	}
}

func behind(a, b store.SamplePosition) bool {
	return a.Attempt > b.Attempt || a.Attempt == b.Attempt && a.Step > b.Step
}

// batch sends items. If they are rejected and the run exists, it sends them in halves, so that an invalid
// item does not block the others. It returns the rejected items, which are not sent again.
func batch[T any](
	ctx context.Context, e *Exporter, s *sending, items []T, send func([]T) error,
) (refused []T, err error) {
	if err = send(items); !isRefused(err) {
		return nil, err
	}
	if there, asked := e.client.exists(ctx, s.run.RunID); asked != nil {
		return nil, asked
	} else if !there {
		return nil, errRunDeleted
	}
	return halve(items, send)
}

// halve sends the halves of items that were rejected together.
func halve[T any](items []T, send func([]T) error) (refused []T, err error) {
	if len(items) == 1 {
		return items, nil
	}
	for _, half := range [][]T{items[:len(items)/2], items[len(items)/2:]} {
		err := send(half)
		if isRefused(err) {
			var more []T
			more, err = halve(half, send)
			refused = append(refused, more...)
		}
		if err != nil {
			return nil, err
		}
	}
	return refused, nil
}
