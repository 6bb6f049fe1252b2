//go:build cluster

package board

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// A job with much to show.
const (
	longAttempts = 24
	longRanks    = 200
	longSamples  = 300 // per attempt
)

// played is a job recorded version by version.
type played struct {
	job     *v1alpha1.TrainingJob
	record  history.Record
	samples []history.Sample
	at      time.Time
	version int
}

func (p *played) keep(after time.Duration, change func(*v1alpha1.TrainingJobStatus)) {
	p.at = p.at.Add(after)
	p.job = p.job.DeepCopy()
	change(&p.job.Status)
	p.version++
	p.job.ResourceVersion = fmt.Sprint(100 + p.version)
	p.record = history.Merge(p.record, history.Of("main", p.job, history.Options{
		UserKeys: []string{"owner"}, GPUKind: func(*v1alpha1.TrainingJob) string { return "NVIDIA-H100-80GB-HBM3" },
	}))
}

func (p *played) enter(
	after time.Duration, phase v1alpha1.Phase, reason string, also ...func(*v1alpha1.TrainingJobStatus),
) {
	p.keep(after, func(st *v1alpha1.TrainingJobStatus) {
		for _, change := range also {
			change(st)
		}
		st.Phase = phase
		st.Transitions = append(st.Transitions, v1alpha1.Transition{
			Time: metav1.NewTime(p.at), Phase: phase, Reason: reason,
		})
		st.Transitions = st.Transitions[max(0, len(st.Transitions)-20):]
	})
}

// newLongJob has run for a day in 24 attempts, of which 12 were preempted and 11 failed.
func newLongJob() *played {
	p := &played{at: now.Add(-25 * time.Hour)}
	p.job = newJob("a", "bert", func(job *v1alpha1.TrainingJob) {
		job.CreationTimestamp = metav1.NewTime(p.at)
		job.Annotations = map[string]string{"owner": "ada@example.com"}
		job.Spec.Framework, job.Spec.Replicas = v1alpha1.FrameworkPyTorch, new(int32(longRanks))
		scheduling := &job.Spec.RunPolicy.SchedulingPolicy
		scheduling.Queue, scheduling.PriorityClass = "research", "batch-low"
		job.Status.Replicas, job.Status.GPUs = longRanks, 8*longRanks
		job.Status.Work, job.Status.Attempt = &v1alpha1.WorkStatus{}, 1
		job.Status.Scheduling = &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerVolcano, Queue: "research"}
	})
	p.enter(time.Second, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
	step := int64(0)
	for attempt := int32(1); attempt <= longAttempts; attempt++ {
		p.enter(4*time.Minute, v1alpha1.PhaseStarting, v1alpha1.ReasonPlaced)
		p.enter(time.Minute, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning,
			func(st *v1alpha1.TrainingJobStatus) { st.StartTime = new(metav1.NewTime(p.at)) })
		step = p.train(attempt, step)
		if attempt < longAttempts {
			step = p.interrupt(attempt, step)
		}
	}
	p.keep(0, func(st *v1alpha1.TrainingJobStatus) {
		st.ReadyReplicas = longRanks
		st.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
			v1alpha1.RoleWorker: {Replicas: longRanks, Active: longRanks, Ready: longRanks},
		}
		for i := range int32(100) {
			st.Workers = append(st.Workers, v1alpha1.WorkerStatus{
				Role: v1alpha1.RoleWorker, Index: i, Phase: "Running", Node: nodeOf(i),
				StartTime: new(metav1.NewTime(p.at)),
			})
		}
		st.LastFailure = &v1alpha1.FailureStatus{
			Role: v1alpha1.RoleWorker, Index: 17, PodName: "bert-worker-17", Attempt: 22, Node: nodeOf(17),
			ExitCode: new(int32(1)), Reason: "Error", Time: new(metav1.NewTime(p.at.Add(-time.Hour))),
			Message: "Traceback (most recent call last):\n  File \"/app/train.py\", line 88, in <module>\n" +
				"torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error\n",
		}
	})
	return p
}

func nodeOf(rank int32) string { return fmt.Sprintf("gpu-%03d.rack-%d.example.com", rank+1, rank/16) }

// train from a step. It returns the last one.
func (p *played) train(attempt int32, from int64) int64 {
	for i := range longSamples {
		step := from + int64(i+1)*10
		x := float64(step)
		s := history.Sample{
			Attempt: attempt, Step: step, Time: p.at.Add(time.Duration(i+1) * 10 * time.Second),
			Metrics: map[string]string{
				"loss":              fmt.Sprintf("%.4f", 0.4+4*math.Exp(-x/9000)+0.05*math.Sin(x/130)),
				"eval_loss":         fmt.Sprintf("%.4f", 0.55+4*math.Exp(-x/10000)),
				"tokens_per_second": fmt.Sprintf("%.0f", 41000+2500*math.Sin(x/700)),
				"learning_rate":     fmt.Sprintf("%g", 3e-4*math.Exp(-x/40000)),
				"grad_norm":         fmt.Sprintf("%.3f", 1+math.Exp(-x/8000)+0.1*math.Sin(x/400)),
			},
		}
		p.samples = append(p.samples, s)
	}
	last := p.samples[len(p.samples)-1]
	p.keep(longSamples*10*time.Second, func(st *v1alpha1.TrainingJobStatus) {
		saved := last.Step - 400
		from := (*v1alpha1.CheckpointPoint)(nil)
		if st.Checkpoint != nil {
			from = st.Checkpoint.ResumeFrom
		}
		st.Checkpoint = &v1alpha1.CheckpointStatus{SaveSeconds: 21, SuggestedInterval: 390, ResumeFrom: from}
		st.Checkpoint.Latest = &v1alpha1.CheckpointPoint{
			URI: fmt.Sprintf("pvc://checkpoints/a/bert/step-%d", saved), Step: saved, Time: new(metav1.NewTime(p.at)),
		}
		st.Progress = &v1alpha1.ProgressStatus{
			Attempt: attempt, Step: last.Step, TotalSteps: 90_000, Percent: new(int32(last.Step / 900)),
			Metrics: last.Metrics, ReportedTime: metav1.NewTime(p.at), Epoch: "3.25", TotalEpochs: "5",
			EstimatedCompletionTime: new(metav1.NewTime(p.at.Add(5 * time.Hour))),
		}
	})
	return last.Step
}

// interrupt an attempt: every other one is preempted, and the others fail. It returns the step to resume
// from.
func (p *played) interrupt(attempt int32, step int64) int64 {
	preempted := attempt%2 == 1
	reason := v1alpha1.ReasonRankFailed
	if preempted {
		reason = v1alpha1.ReasonPreempted
	}
	p.enter(0, v1alpha1.PhaseDraining, reason)
	ended := func(st *v1alpha1.TrainingJobStatus) {
		lost := step - st.Checkpoint.Latest.Step
		st.Attempt++
		st.Work.Interruptions++
		st.Work.LostSteps += lost
		st.Work.LostSeconds += lost
		st.Work.LostGPUSeconds += lost * st.GPUs
		st.Checkpoint.ResumeFrom = st.Checkpoint.Latest
		st.Conditions = nil
		if !preempted {
			st.Restarts++
			return
		}
		st.Preemptions++
		st.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionPreempted, Status: metav1.ConditionTrue, Reason: reason,
			Message: fmt.Sprintf("Worker %d on %s was preempted: preempting to accommodate a higher priority pod",
				attempt, nodeOf(attempt)),
		}}
	}
	if preempted {
		p.enter(40*time.Second, v1alpha1.PhaseQueued, reason, ended)
	} else {
		p.enter(40*time.Second, v1alpha1.PhaseRestarting, reason, ended)
		p.enter(time.Minute, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
	}
	return p.job.Status.Checkpoint.Latest.Step
}

// onNodes returns the ranks on their nodes, some of them with problems.
func (p *played) onNodes() []*placement.OnNode {
	var all []*placement.OnNode
	for i := range int32(longRanks) {
		on := rankOnNode(nodeOf(i), p.job, i)
		rank := &on.Pods[0]
		switch i {
		case 7:
			rank.Restarts = 3
		case 130:
			rank.Ready = false
		case 131:
			rank.State, rank.Ready = placement.Starting, false
		case 132:
			rank.State, rank.Ready = placement.Ending, false
		case 133:
			rank.State, rank.Ready = "", false
		case 44, 199:
			continue // one that the status lists, and one that it does not
		}
		all = append(all, on)
	}
	return all
}
