package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// kubeflowBody is the body of a request with a percentage and metrics, as Transformers writes it.
func kubeflowBody(percent int, metrics ...string) string {
	var all []string
	for _, m := range metrics {
		name, value, _ := strings.Cut(m, "=")
		all = append(all, fmt.Sprintf(`{"name": %q, "value": %q}`, name, value))
	}
	list := ""
	if len(all) > 0 {
		list = `, "metrics": [` + strings.Join(all, ", ") + `]`
	}
	return fmt.Sprintf(`{"trainerStatus": {"lastUpdatedTime": "2026-11-21T09:00:00.000001+00:00", `+
		`"progressPercentage": %d, "estimatedRemainingSeconds": 7%s}}`, percent, list)
}

// atStep is a message of KubeflowCallback.on_step_end.
func atStep(step, total int, more ...string) string {
	return kubeflowBody(min(99, 100*step/total), append(more, fmt.Sprintf("current_step=%d", step),
		fmt.Sprintf("total_steps=%d", total))...)
}

// TestKubeflowProgress plays messages, five seconds apart.
func TestKubeflowProgress(t *testing.T) {
	const sigterm = "SIGTERM"
	begin, end := kubeflowBody(0, "total_steps=1000"), kubeflowBody(100, "loss=0.5")
	training := checkpoint.Status{Step: 10, TotalSteps: 1000, Phase: checkpoint.PhaseTraining}
	with := func(s checkpoint.Status, edit func(*checkpoint.Status)) checkpoint.Status { edit(&s); return s }
	loss := map[string]checkpoint.Metric{"loss": "0.5"}
	var many, kept []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("m%02d=1", i))
	}
	for i := range 29 {
		kept = append(kept, fmt.Sprintf("m%02d", i))
	}
	keptMetrics := map[string]checkpoint.Metric{"loss": "2", "grad_norm": "3", "learning_rate": "4"}
	for _, name := range kept {
		keptMetrics[name] = "1"
	}
	cases := map[string]struct {
		messages []string
		want     checkpoint.Status
	}{
		"the training begins": {
			[]string{begin}, checkpoint.Status{TotalSteps: 1000, Phase: checkpoint.PhaseStarting},
		},
		"it begins, and the number of steps is unknown": {
			[]string{kubeflowBody(0)}, checkpoint.Status{Phase: checkpoint.PhaseStarting},
		},
		"a step": {[]string{begin, atStep(10, 1000)}, training},
		"an epoch and metrics": {
			[]string{begin, atStep(10, 1000, "loss=0.5", "current_epoch=0.25", "epoch=0.25")},
			with(training, func(s *checkpoint.Status) {
				s.Epoch, s.Metrics = 0.25, map[string]checkpoint.Metric{"loss": "0.5", "epoch": "0.25"}
			}),
		},
		"numbers as Python prints them": {
			[]string{atStep(10, 1000, "loss=nan", "grad_norm=inf", "learning_rate=4.9e-05", "rewards/chosen=-0.5")},
			with(training, func(s *checkpoint.Status) {
				s.Metrics = map[string]checkpoint.Metric{
					"loss": "nan", "grad_norm": "inf", "learning_rate": "4.9e-05", "rewards/chosen": "-0.5",
				}
			}),
		},
		"what is no metric is left out": {
			[]string{atStep(10, 1000, "loss=0.5", "done=True", "a b=1", "=1", "long="+strings.Repeat("1", 33),
				strings.Repeat("n", 64)+"=1", "ü=1")},
			with(training, func(s *checkpoint.Status) { s.Metrics = loss }),
		},
		"more metrics than a status has": {
			[]string{atStep(10, 1000, append(many, "learning_rate=4", "loss=2", "grad_norm=3")...)},
			with(training, func(s *checkpoint.Status) { s.Metrics = keptMetrics }),
		},
		"the time of a step": {
			[]string{begin, atStep(10, 1000), atStep(20, 1000)},
			with(training, func(s *checkpoint.Status) { s.Step, s.StepSeconds = 20, 0.5 }),
		},
		"a slow step does not change the median": {
			[]string{atStep(10, 1000), atStep(20, 1000), atStep(21, 1000), atStep(31, 1000)},
			with(training, func(s *checkpoint.Status) { s.Step, s.StepSeconds = 31, 0.5 }),
		},
		"the same step again": {
			[]string{atStep(10, 1000), atStep(20, 1000), atStep(20, 1000), atStep(40, 1000)},
			with(training, func(s *checkpoint.Status) { s.Step, s.StepSeconds = 40, 0.5 }),
		},
		"no step is trained after a resume at the end": {
			[]string{begin, kubeflowBody(100)},
			checkpoint.Status{TotalSteps: 1000, Phase: checkpoint.PhaseCompleted},
		},
		"the end": {
			[]string{begin, atStep(990, 1000), end},
			with(training, func(s *checkpoint.Status) {
				s.Step, s.Phase, s.Metrics = 990, checkpoint.PhaseCompleted, loss
			}),
		},
		"early stopping": {
			[]string{begin, atStep(10, 1000), end},
			with(training, func(s *checkpoint.Status) { s.Phase, s.Metrics = checkpoint.PhaseCompleted, loss }),
		},
		"SIGTERM stops the loop": {
			[]string{begin, atStep(10, 1000), sigterm, end},
			with(training, func(s *checkpoint.Status) { s.Metrics = loss }),
		},
		"SIGTERM before the first step": {
			[]string{begin, sigterm, end}, checkpoint.Status{TotalSteps: 1000, Phase: checkpoint.PhaseStarting},
		},
		"SIGTERM after the last step": {
			[]string{begin, atStep(1000, 1000), sigterm, end},
			with(training, func(s *checkpoint.Status) {
				s.Step, s.Phase, s.Metrics = 1000, checkpoint.PhaseCompleted, loss
			}),
		},
		"SIGTERM after the end": {
			[]string{begin, atStep(10, 1000), end, sigterm},
			with(training, func(s *checkpoint.Status) { s.Phase, s.Metrics = checkpoint.PhaseCompleted, loss }),
		},
		"a second training": {
			[]string{begin, atStep(1000, 1000), end, kubeflowBody(0, "total_steps=500")},
			checkpoint.Status{TotalSteps: 500, Phase: checkpoint.PhaseStarting},
		},
		"SIGTERM in a second, shorter training": {
			[]string{begin, atStep(1000, 1000), end, kubeflowBody(0, "total_steps=500"), sigterm, end},
			checkpoint.Status{TotalSteps: 500, Phase: checkpoint.PhaseStarting},
		},
		"a second training without its beginning": {
			[]string{atStep(10, 1000), atStep(20, 1000), atStep(5, 1000)},
			with(training, func(s *checkpoint.Status) { s.Step = 5 }),
		},
		"a percentage without steps": {
			[]string{kubeflowBody(30, "loss=0.5"), kubeflowBody(60)},
			checkpoint.Status{Phase: checkpoint.PhaseStarting},
		},
		"a percentage without steps, to the end": {
			[]string{kubeflowBody(30), kubeflowBody(100)}, checkpoint.Status{Phase: checkpoint.PhaseCompleted},
		},
		"metrics between steps": {
			[]string{atStep(10, 1000), kubeflowBody(30, "loss=0.5")}, training,
		},
		"a step without a total": {
			[]string{kubeflowBody(30, "current_step=10")},
			checkpoint.Status{Step: 10, Phase: checkpoint.PhaseTraining},
		},
		"steps that are no step": {
			[]string{kubeflowBody(30, "current_step=-4", "total_steps=1e3"), kubeflowBody(30, "current_step=0"),
				kubeflowBody(30, "current_step=99999999999999999999")},
			checkpoint.Status{Phase: checkpoint.PhaseStarting},
		},
		"an epoch that is none": {
			[]string{atStep(10, 1000, "current_epoch=nan")}, training,
		},
		"nothing": {[]string{`{}`}, checkpoint.Status{Phase: checkpoint.PhaseStarting}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, stopping := kubeflowHistory{}, false
			now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
			for _, message := range c.messages {
				if message == sigterm {
					stopping = true
					continue
				}
				m, err := parseKubeflow([]byte(message))
				if err != nil {
					t.Fatal(err)
				}
				before := h.status.Step
				next := h.next(m, now, stopping)
				if h.status.Step != before {
					t.Error("a message changed the history before it")
				}
				h, now = next, now.Add(5*time.Second)
			}
			if diff := cmp.Diff(c.want, h.status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubeflowMessagesThatCannotBeRead(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "half": `{"trainerStatus": {"progressPerc`, "a list": `[]`,
		"no object":          `{"trainerStatus": 7}`,
		"a fraction":         `{"trainerStatus": {"progressPercentage": 0.5}}`,
		"more than 100%":     `{"trainerStatus": {"progressPercentage": 101}}`,
		"less than 0%":       `{"trainerStatus": {"progressPercentage": -1}}`,
		"metrics by name":    `{"trainerStatus": {"metrics": {"loss": "1"}}}`,
		"a metric's number":  `{"trainerStatus": {"metrics": [{"name": "loss", "value": 1}]}}`,
		"something after it": `{} {}`,
	} {
		if m, err := parseKubeflow([]byte(body)); err == nil {
			t.Errorf("%s: got %+v", name, m)
		}
	}
}
