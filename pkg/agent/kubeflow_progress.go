package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// kubeflowMessage is what the agent uses of a message of Kubeflow Trainer's progress protocol. The estimated
// remaining time is not used: after a resume, Transformers divides the time of this attempt by all steps.
type kubeflowMessage struct {
	// percent is nil if the message has none.
	percent *int32
	metrics map[string]string
}

// parseKubeflow reads the body of a request (pkg/statusserver, Trainer 2.2.1). A body without a trainerStatus
// is empty, as there.
func parseKubeflow(body []byte) (kubeflowMessage, error) {
	var request struct {
		TrainerStatus *struct {
			ProgressPercentage *int32
			Metrics            []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return kubeflowMessage{}, fmt.Errorf("reading the status: %w", err)
	}
	s := request.TrainerStatus
	if s == nil {
		return kubeflowMessage{}, nil
	}
	if p := s.ProgressPercentage; p != nil && (*p < 0 || *p > 100) {
		return kubeflowMessage{}, errors.New("progressPercentage must be between 0 and 100")
	}
	m := kubeflowMessage{percent: s.ProgressPercentage, metrics: make(map[string]string, len(s.Metrics))}
	for _, metric := range s.Metrics {
		m.metrics[metric.Name] = metric.Value
	}
	return m, nil
}

// Metrics of Transformers' KubeflowCallback that are not the trainer's own
// (integrations/integration_utils.py, transformers 5.24).
const (
	kubeflowStep  = "current_step"
	kubeflowTotal = "total_steps"
	kubeflowEpoch = "current_epoch"
)

const (
	maxKubeflowMetrics = 32 // of a status
	maxStepTimes       = 9
	maxStepSeconds     = 1e6 // of a status
)

// firstMetrics have a place among the metrics of a status before all others.
var firstMetrics = []string{"loss", "eval_loss", "grad_norm", "learning_rate"}

// kubeflowHistory is what a trainer has reported by the protocol since its training began.
type kubeflowHistory struct {
	// status as if the trainer had written it.
	status checkpoint.Status
	// hasStep: a step was reported, the last one at the time stepAt.
	hasStep bool
	stepAt  time.Time
	// stepTimes are the last times of one step, in seconds.
	stepTimes []float64
}

// next returns the history with a message that arrived now. stopping: the trainer was asked to stop.
//
// A trainer reports 100% whenever its loop ends, also after it has saved because of SIGTERM. So 100% means
// that all steps are done only if the agent has not asked it to stop, or if the last step is known to be
// done.
func (h kubeflowHistory) next(m kubeflowMessage, now time.Time, stopping bool) kubeflowHistory {
	step, total := m.whole(kubeflowStep), m.whole(kubeflowTotal)
	percent := int32(-1)
	if m.percent != nil {
		percent = *m.percent
	}
	if step == 0 && (percent == 0 || h.status.Phase == "") { // the training begins, or begins again
		h = kubeflowHistory{status: checkpoint.Status{Phase: checkpoint.PhaseStarting}}
	}
	if total > 0 {
		h.status.TotalSteps = total
	}
	if step > 0 {
		h = h.timeStep(step, now)
		h.status.Step, h.status.Phase, h.hasStep = step, checkpoint.PhaseTraining, true
		h.status.Epoch, h.status.Metrics = m.epoch(), m.own()
	}
	if percent != 100 {
		return h
	}
	if h.hasStep && step == 0 {
		h.status.Metrics = m.own()
	}
	atLast := h.hasStep && h.status.TotalSteps > 0 && h.status.Step >= h.status.TotalSteps
	if !stopping || atLast {
		h.status.Phase = checkpoint.PhaseCompleted
	}
	return h
}

// timeStep derives the time of a step from the steps between two messages.
func (h kubeflowHistory) timeStep(step int64, now time.Time) kubeflowHistory {
	switch took := now.Sub(h.stepAt).Seconds(); {
	case !h.hasStep || step < h.status.Step: // of another training
		h.stepAt, h.stepTimes, h.status.StepSeconds = now, nil, 0
	case step > h.status.Step:
		if perStep := took / float64(step-h.status.Step); took > 0 && perStep <= maxStepSeconds {
			h.stepTimes = append(slices.Clone(h.stepTimes), perStep)
			h.stepTimes = h.stepTimes[max(0, len(h.stepTimes)-maxStepTimes):]
			h.status.StepSeconds = median(h.stepTimes)
		}
		h.stepAt = now
	}
	return h
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// whole returns a metric that is a whole number from 1 to that of a status; 0 if it is none.
func (m kubeflowMessage) whole(name string) int64 {
	n, err := strconv.ParseInt(m.metrics[name], 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		return 0
	}
	return n
}

// epoch returns 0 if there is none.
func (m kubeflowMessage) epoch() float64 {
	e, err := strconv.ParseFloat(m.metrics[kubeflowEpoch], 64)
	if err != nil || math.IsNaN(e) || e < 0 || e > 1e9 {
		return 0
	}
	return e
}

// own returns the trainer's own metrics that a status can have.
func (m kubeflowMessage) own() map[string]checkpoint.Metric {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(m.metrics)), func(name string) bool {
		return name == kubeflowStep || name == kubeflowTotal || name == kubeflowEpoch ||
			!checkpoint.IsMetric(name, m.metrics[name])
	})
	rank := func(name string) int {
		if i := slices.Index(firstMetrics, name); i >= 0 {
			return i
		}
		return len(firstMetrics)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	var own map[string]checkpoint.Metric
	for _, name := range names[:min(len(names), maxKubeflowMetrics)] {
		if own == nil {
			own = map[string]checkpoint.Metric{}
		}
		own[name] = checkpoint.Metric(m.metrics[name])
	}
	return own
}
