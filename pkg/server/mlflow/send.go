package mlflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// send a job what its run lacks. A job that has ended is postponed unless such jobs are wanted.
func (e *Exporter) send(ctx context.Context, p store.PendingRun, ended bool) (postponed bool, err error) {
	record, err := e.store.Job(ctx, p.Key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // it was pruned meanwhile
	} else if err != nil {
		return false, err
	}
	d, err := describe(&record, e.config.ParameterPrefix)
	if err != nil {
		return false, &jobError{err}
	}
	if d.finished() && !ended {
		return true, nil
	}
	s, err := sendingOf(p)
	if err != nil {
		return false, &jobError{err}
	}
	if d.copied || s.Deleted {
		return false, e.save(ctx, s, true)
	}
	if !spec.IsMLflowExperiment(d.experiment) {
		e.metrics.refuse(refusedExperiment, 1)
		e.log.Info("a job names an experiment that cannot be one, and has no run: its annotation must be changed",
			"cluster", p.Cluster, "namespace", record.Job.Namespace, "name", record.Job.Name)
		return false, e.save(ctx, s, true)
	}
	return false, concerningJob(e.sendAll(ctx, s, d, &record.Job))
}

// concerningJob marks what the tracking server answered about one job.
func concerningJob(err error) error {
	var r *rejection
	if errors.As(err, &r) || errors.Is(err, errExperimentDeleted) {
		return &jobError{err}
	}
	return err
}

// sendAll in the order in which it is wanted: the run, so that the next attempt knows it; then the rest.
func (e *Exporter) sendAll(ctx context.Context, s *sending, d *description, job *history.Job) error {
	if err := e.ensureRun(ctx, s, d); err != nil {
		return err
	}
	annotated := e.annotate(ctx, s, d, job)
	err := e.sendContent(ctx, s, d)
	if errors.Is(err, errRunDeleted) {
		e.log.Info("the run of a job was deleted in MLflow: nothing more is sent", "run", s.run.RunID,
			"namespace", job.Namespace, "name", job.Name)
		s.Deleted = true
		return e.save(ctx, s, true)
	}
	if err == nil && annotated == nil {
		return e.save(ctx, s, true)
	}
	return errors.Join(err, annotated, e.save(ctx, s, false))
}

// ensureRun finds the job's run, or makes it. The experiment is written down before: where the run is looked
// for must not change, whatever becomes of the annotation.
func (e *Exporter) ensureRun(ctx context.Context, s *sending, d *description) error {
	if s.run.RunID != "" {
		return nil
	}
	if s.run.ExperimentID == "" {
		id, err := e.client.experimentID(ctx, d.experiment)
		if err != nil {
			return err
		}
		s.run.ExperimentID = id
		if err := e.save(ctx, s, false); err != nil {
			return err
		}
	}
	found, err := e.client.runsOf(ctx, s.run.ExperimentID, string(s.run.UID))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		made, err := e.client.createRun(ctx, s.run.ExperimentID, d)
		if hasCode(err, codeDoesNotExist) { // the experiment, which somebody deleted for good
			s.run.ExperimentID = ""
			return errors.Join(err, e.save(ctx, s, false))
		} else if err != nil {
			return err
		}
		found = []string{made}
		s.Tags, s.Status = d.tags, statusRunning
	}
	s.run.RunID = slices.Min(found)
	return e.agree(ctx, s)
}

// agree on one run with another replica that works on the job at the same time, which a lease cannot rule
// out: a process that was stopped does not know that its lease has run out. The one that was kept first
// counts; others are deleted when the job has ended.
func (e *Exporter) agree(ctx context.Context, s *sending) error {
	chosen := s.run.RunID
	if err := e.save(ctx, s, false); err != nil {
		return err
	}
	kept, err := e.store.Run(ctx, s.run.Key)
	if err != nil {
		return err
	}
	if kept.RunID != chosen {
		s.run.RunID, s.run.ExperimentID = kept.RunID, kept.ExperimentID
		s.progress = progress{} // nothing was sent to it from here, and to send twice changes nothing
	}
	return nil
}

// errRunDeleted: somebody deleted a run, and everything about it is refused.
var errRunDeleted = errors.New("the run was deleted")

// whetherDeleted returns errRunDeleted in the place of a rejection, where that is why.
func (e *Exporter) whetherDeleted(ctx context.Context, s *sending, err error) error {
	if !isRefused(err) {
		return err
	}
	there, asked := e.client.exists(ctx, s.run.RunID)
	if asked == nil && !there {
		return errRunDeleted
	}
	return errors.Join(err, asked)
}

// sendContent of the run. What was sent is noted in s.
func (e *Exporter) sendContent(ctx context.Context, s *sending, d *description) error {
	if err := e.sendParameters(ctx, s, d.parameters); err != nil {
		return err
	}
	if err := e.sendMeasurements(ctx, s, s.Sample); err != nil {
		return err
	}
	if d.finished() && !s.Settled {
		if err := e.settle(ctx, s); err != nil {
			return err
		}
	}
	if err := e.sendTags(ctx, s, d.tags); err != nil {
		return err
	}
	if s.Status == d.status {
		return nil
	}
	end := int64(0)
	if d.finished() {
		end = d.end.UnixMilli()
	}
	err := e.client.updateRun(ctx, s.run.RunID, d.name, d.status, end)
	if err != nil {
		return e.whetherDeleted(ctx, s, err)
	}
	s.Status = d.status
	return nil
}

// settle a run whose job has ended. Samples that were recorded behind later ones are sent with all the
// others, which changes nothing of these; and runs that the job has too many, of a request that was carried
// out after its answer was given up, are deleted.
func (e *Exporter) settle(ctx context.Context, s *sending) error {
	if err := e.sendMeasurements(ctx, s, nil); err != nil {
		return err
	}
	found, err := e.client.runsOf(ctx, s.run.ExperimentID, string(s.run.UID))
	if err != nil {
		return err
	}
	for _, id := range found {
		if id == s.run.RunID {
			continue
		}
		if err := e.client.deleteRun(ctx, id); err != nil {
			return fmt.Errorf("deleting a second run of a job: %w", err)
		}
		e.metrics.refuse(refusedRun, 1)
	}
	s.Settled = true
	return nil
}
