package contention

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// defaultGrace of a pod without terminationGracePeriodSeconds.
const defaultGrace = corev1.DefaultTerminationGracePeriodSeconds * time.Second

// runningGang describes a gang that holds nodes, without Foreign and its use of quotas: these depend on the
// preemptor.
func runningGang(j *Job) preemption.Running {
	g := preemption.Running{
		Ref: j.ref(), Value: j.Value, GPUs: j.Status.GPUs,
		Holds: map[string]scheduler.Amounts{},
		Ending: j.Status.Phase == v1alpha1.PhaseDraining || j.DeletionTimestamp != nil ||
			spec.Suspended(j.TrainingJob),
		Began: j.since(), Reported: j.Reported, MinRun: j.Class.MinRun,
		AskFailed: j.Status.Work != nil && j.Status.Work.AskedInVain > 0,
	}
	if j.Status.GPUsUnknown != "" {
		g.GPUs = int64(j.Status.Replicas) // one each: with none, it would be the cheapest of all victims
	}
	for _, pod := range j.Pods {
		if pod.Spec.NodeName == "" || observation.Ended(pod) {
			continue
		}
		hold(g.Holds, pod.Spec.NodeName, j.Requests[pod.Labels[scheduler.LabelRole]])
		g.Grace = max(g.Grace, graceOf(pod))
	}
	if w := j.Status.Work; w != nil {
		g.Start = time.Duration(w.StartSeconds) * time.Second
	}
	describeSaves(j, &g)
	if p := j.Status.Progress; p != nil && p.Attempt == j.Status.Attempt {
		if p.EstimatedCompletionTime != nil {
			g.End = p.EstimatedCompletionTime.Time
		}
		if p.Source == v1alpha1.ProgressFromKubeflow {
			g.Reported = time.Time{} // its trainer reads no commands
		}
	}
	return g
}

func hold(holds map[string]scheduler.Amounts, node string, requests scheduler.Amounts) {
	if holds[node] == nil {
		holds[node] = scheduler.Amounts{}
	}
	for name, n := range requests {
		holds[node][name] += n
	}
}

func graceOf(pod *corev1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return defaultGrace
}

// describeSaves fills in what the attempt has saved. It resumed from any older checkpoint.
func describeSaves(j *Job, g *preemption.Running) {
	c, st := spec.Checkpoints(j.TrainingJob), j.Status.Checkpoint
	if c == nil || st == nil {
		return
	}
	g.Save = time.Duration(st.SaveSeconds) * time.Second
	g.Optimum = time.Duration(st.SuggestedInterval) * time.Second
	if ahead := st.Ahead; ahead != nil && ahead.Attempt == j.Status.Attempt {
		g.AskedAhead = ahead.Time.Time
	}
	if st.Latest == nil || st.Latest.Time == nil || !st.Latest.Time.After(g.Began) {
		return
	}
	g.Saved = st.Latest.Time.Time
	interval := spec.OrDefault(c.Interval, spec.DefaultCheckpointInterval)
	g.NextSave = g.Saved.Add(time.Duration(interval) * time.Second)
}
