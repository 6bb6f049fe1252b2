package mlflow

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Paths of MLflow's REST API 2.0.
const (
	callExperimentByName = "experiments/get-by-name"
	callCreateExperiment = "experiments/create"
	callSearchRuns       = "runs/search"
	callGetRun           = "runs/get"
	callCreateRun        = "runs/create"
	callDeleteRun        = "runs/delete"
	callUpdateRun        = "runs/update"
	callLogBatch         = "runs/log-batch"
)

// calls returns all paths.
func calls() []string {
	return []string{
		callExperimentByName, callCreateExperiment, callSearchRuns, callGetRun, callCreateRun, callDeleteRun,
		callUpdateRun, callLogBatch,
	}
}

// Statuses of a run.
const (
	statusScheduled = "SCHEDULED"
	statusRunning   = "RUNNING"
	statusFinished  = "FINISHED"
	statusFailed    = "FAILED"
	statusKilled    = "KILLED"
)

// stageDeleted is the stage of a deleted experiment or run that can be restored.
const stageDeleted = "deleted"

type experiment struct {
	ID    string `json:"experiment_id"`
	Name  string `json:"name"`
	Stage string `json:"lifecycle_stage"`
}

type run struct {
	Info struct {
		ID    string `json:"run_id"`
		Stage string `json:"lifecycle_stage"`
	} `json:"info"`
}

// pair is a parameter or a tag.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// measurement is one value of a metric.
type measurement struct {
	Key       string `json:"key"`
	Value     any    `json:"value"`     // a number; NaN, Infinity or -Infinity as text
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970, above 0
	Step      int64  `json:"step"`
}

var errExperimentDeleted = errors.New("the experiment is deleted in MLflow: restore it there, or set " +
	"another one in the job's annotation")

// experimentID returns the ID of the experiment with the name, and creates it if necessary.
func (c *client) experimentID(ctx context.Context, name string) (string, error) {
	id, err := c.findExperiment(ctx, name)
	if !hasCode(err, codeDoesNotExist) {
		return id, err
	}
	var made experiment
	err = c.post(ctx, callCreateExperiment, map[string]string{"name": name}, &made)
	if hasCode(err, codeExists) { // another client created it
		return c.findExperiment(ctx, name)
	}
	return made.ID, err
}
func (c *client) findExperiment(ctx context.Context, name string) (string, error) {
	var found struct {
		Experiment experiment `json:"experiment"`
	}
	err := c.get(ctx, callExperimentByName, url.Values{"experiment_name": {name}}, &found)
	if err == nil && found.Experiment.Stage == stageDeleted {
		return "", fmt.Errorf("%s: %w", name, errExperimentDeleted)
	}
	return found.Experiment.ID, err
}

// runsOf returns the runs of a job in an experiment, by the tag with its UID, without deleted ones.
func (c *client) runsOf(ctx context.Context, experimentID, uid string) ([]string, error) {
	var found struct {
		Runs []run `json:"runs"`
	}
	err := c.post(ctx, callSearchRuns, map[string]any{
		"experiment_ids": []string{experimentID}, "max_results": 100, "run_view_type": "ACTIVE_ONLY",
		"filter": fmt.Sprintf("tags.%q = '%s'", tagUID, uid),
	}, &found)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found.Runs))
	for i, r := range found.Runs {
		ids[i] = r.Info.ID
	}
	return ids, nil
}
func (c *client) createRun(ctx context.Context, experimentID string, d *description) (string, error) {
	var made struct {
		Run run `json:"run"`
	}
	err := c.post(ctx, callCreateRun, map[string]any{
		"experiment_id": experimentID, "run_name": d.name, "user_id": d.user, "start_time": d.start.UnixMilli(),
		"tags": pairs(d.tags),
	}, &made)
	if err != nil {
		return "", err
	}
	if id := made.Run.Info.ID; !spec.IsMLflowRun(id) {
		return "", &awayError{cause: fmt.Errorf("the new run has the invalid ID %q", printable(id))}
	}
	return made.Run.Info.ID, nil
}

// exists reports whether a run exists and is not deleted.
func (c *client) exists(ctx context.Context, id string) (bool, error) {
	var found struct {
		Run run `json:"run"`
	}
	err := c.get(ctx, callGetRun, url.Values{"run_id": {id}}, &found)
	if hasCode(err, codeDoesNotExist) {
		return false, nil
	}
	return err == nil && found.Run.Info.Stage != stageDeleted, err
}

func (c *client) deleteRun(ctx context.Context, id string) error {
	err := c.post(ctx, callDeleteRun, map[string]string{"run_id": id}, nil)
	if hasCode(err, codeDoesNotExist) {
		return nil
	}
	return err
}

// updateRun sets the status, and the end in milliseconds unless it is 0.
func (c *client) updateRun(ctx context.Context, id, name, status string, end int64) error {
	in := map[string]any{"run_id": id, "run_name": name, "status": status}
	if end > 0 {
		in["end_time"] = end
	}
	return c.post(ctx, callUpdateRun, in, nil)
}
func (c *client) logBatch(ctx context.Context, id string, params, tags []pair, metrics []measurement) error {
	in := map[string]any{"run_id": id}
	if len(params) > 0 {
		in["params"] = params
	}
	if len(tags) > 0 {
		in["tags"] = tags
	}
	if len(metrics) > 0 {
		in["metrics"] = metrics
	}
	return c.post(ctx, callLogBatch, in, nil)
}
