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

// send sends what the run of a job lacks. It postpones an ended job unless ended is set.
func (e *Exporter) send(ctx context.Context, p store.PendingRun, ended bool) (postponed bool, err error) {
	record, err := e.store.Job(ctx, p.Key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // pruned meanwhile
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
		e.log.Info("A job has an invalid experiment name and no run: correct its annotation",
			"cluster", p.Cluster, "namespace", record.Job.Namespace, "name", record.Job.Name)
		return false, e.save(ctx, s, true)
	}
	return false, concerningJob(e.sendAll(ctx, s, d, &record.Job))
}

// concerningJob marks a response of the tracking server that concerns one job.
func concerningJob(err error) error {
	var r *rejection
	if errors.As(err, &r) || errors.Is(err, errExperimentDeleted) {
		return &jobError{err}
	}
	return err
}

// sendAll sends the run first, so that the next attempt can use it, and then the rest.
func (e *Exporter) sendAll(ctx context.Context, s *sending, d *description, job *history.Job) error {
	if err := e.ensureRun(ctx, s, d); err != nil {
		return err
	}
	annotated := e.annotate(ctx, s, d, job)
	err := e.sendContent(ctx, s, d)
	if errors.Is(err, errRunDeleted) {
		e.log.Info("The run of a job was deleted in MLflow: the server sends nothing more", "run",
			s.run.RunID,
			"namespace", job.Namespace, "name", job.Name)
		s.Deleted = true
		return e.save(ctx, s, true)
	}
	if err == nil && annotated == nil {
		return e.save(ctx, s, true)
	}
	return errors.Join(err, annotated, e.save(ctx, s, false))
}

// ensureRun finds or creates the job's run. It stores the experiment before, because later changes of the
// annotation must not change where the run is.
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
		if hasCode(err, codeDoesNotExist) { // the experiment was deleted permanently
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

// agree on one run with another replica that processes the job at the same time, which a lease cannot
// exclude: a paused process does not notice that its lease expired. The run that was stored first counts;
// others are deleted when the job has ended.
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
		s.progress = progress{} // nothing was sent to it from here; sending twice changes nothing
	}
	return nil
}

// errRunDeleted: a user deleted the run in MLflow, which rejects all changes of it.
var errRunDeleted = errors.New("the run was deleted")

// whetherDeleted returns errRunDeleted instead of a rejection, if that is the cause.
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

// sendContent sends the content of the run, and records it in s.
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

// settle completes the run of an ended job. It sends all samples again, in case some were recorded late, and
// deletes extra runs, which come from requests that succeeded after a timeout.
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
