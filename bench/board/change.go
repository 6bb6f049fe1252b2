package board

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// Load is what changes at once.
type Load struct {
	Name string
	// Jobs that change: running ones report progress, and lose or regain a rank; queued ones get another
	// reason. One in 20 ends, and a queued one starts. As many ranks of the large job are not ready, up to
	// those that its status lists.
	Jobs int
	// Storm ends all ranks of the large job and starts them again.
	Storm bool
}

// change the cluster once.
func (c *cluster) change(load Load) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	for i := range load.Jobs {
		if i%5 < 3 { // the share of running jobs
			c.train(i)
		} else {
			c.stay(i)
		}
	}
	if load.Jobs > 0 {
		for range max(1, load.Jobs/20) {
			c.replace()
		}
		c.trainLarge(min(load.Jobs, maxListed))
	}
	if load.Storm {
		c.storm()
	}
	c.publish()
}

// take returns one of the jobs, by turn.
func (c *cluster) take(from []types.UID, i int) *v1alpha1.TrainingJob {
	return c.next(c.find(from[(c.turn*31+i)%len(from)]))
}

// train makes progress in a running job. It loses or regains a rank.
func (c *cluster) train(i int) {
	job := c.take(c.running, i)
	st := &job.Status
	setProgress(st, st.Progress.Step+250)
	ready := st.Replicas - st.ReadyReplicas // 0 or 1, toggled
	index := len(c.at[job.UID]) - 1
	if ready == 0 {
		c.put(job, index, "")
		setReady(st, st.Replicas-1)
	} else {
		c.put(job, index, placement.Running)
		setReady(st, st.Replicas)
	}
	c.set(job)
}

// stay changes the reason of a queued job.
func (c *cluster) stay(i int) {
	job := c.take(c.queued, i)
	enqueue(job, c.turn+i)
	c.set(job)
}

// replace ends the job that has run longest and starts the one that has waited longest. The oldest ended job
// is deleted, and a new one is submitted.
func (c *cluster) replace() {
	old, next := c.next(c.find(c.running[0])), c.next(c.find(c.queued[0]))
	c.end(old)
	c.set(old)
	c.at[next.UID] = c.at[old.UID]
	delete(c.at, old.UID)
	c.start(next)
	c.set(next)
	gone := c.find(c.ended[0])
	c.jobs = slices.DeleteFunc(c.jobs, func(j *v1alpha1.TrainingJob) bool { return j == gone })
	made := c.newJob()
	enqueue(made, c.turn)
	c.set(made)
	c.running = append(slices.Clone(c.running[1:]), next.UID)
	c.queued = append(slices.Clone(c.queued[1:]), made.UID)
	c.ended = append(slices.Clone(c.ended[1:]), old.UID)
}

// trainLarge makes progress in the large job. Each time other ranks are not ready.
func (c *cluster) trainLarge(unready int) {
	job := c.next(c.find(c.large))
	st := &job.Status
	if st.Phase != v1alpha1.PhaseRunning {
		return
	}
	setProgress(st, st.Progress.Step+5)
	setReady(st, st.Replicas-int32(unready))
	st.Workers = nil
	for _, index := range c.unready {
		c.put(job, index, placement.Running)
	}
	c.unready = nil
	for i := range unready {
		index := (c.turn*37 + i) % int(st.Replicas)
		c.unready = append(c.unready, index)
		c.fail(job, index, c.turn)
		st.Workers = append(st.Workers, v1alpha1.WorkerStatus{
			Role: v1alpha1.RoleWorker, Index: int32(index), Phase: "Running", RestartCount: int32(c.turn),
			Node: c.nodes[c.at[job.UID][index]].Name, PodName: fmt.Sprintf("%s-worker-%d", job.Name, index),
		})
	}
	c.list(job, "Running")
	c.set(job)
}

// list the first ranks that the status does not list, up to its limit.
func (c *cluster) list(job *v1alpha1.TrainingJob, phase string) {
	st := &job.Status
	listed := map[int32]bool{}
	for _, w := range st.Workers {
		listed[w.Index] = true
	}
	for index := int32(0); index < st.Replicas && len(st.Workers) < maxListed; index++ {
		if !listed[index] {
			st.Workers = append(st.Workers, v1alpha1.WorkerStatus{
				Role: v1alpha1.RoleWorker, Index: index, Phase: phase, Node: c.nodes[c.at[job.UID][index]].Name,
				PodName: fmt.Sprintf("%s-worker-%d", job.Name, index), StartTime: st.StartTime,
			})
		}
	}
}

// stages of a storm: the state of all ranks, on the map and in the status.
var stages = []struct {
	phase  v1alpha1.Phase
	reason string
	state  placement.RankState
	listed string
}{
	{v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted, placement.Ending, "Terminating"},
	{v1alpha1.PhaseQueued, v1alpha1.ReasonPreempted, "", ""},
	{v1alpha1.PhaseStarting, v1alpha1.ReasonPlaced, placement.Starting, "Pending"},
	{v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning, placement.Running, "Running"},
}

// storm moves the large job to its next stage.
func (c *cluster) storm() {
	stage := stages[c.stage%len(stages)]
	c.stage++
	job := c.next(c.find(c.large))
	st := &job.Status
	enter(st, stage.phase, stage.reason)
	st.Workers = nil
	setReady(st, 0)
	switch stage.phase {
	case v1alpha1.PhaseQueued:
		st.Attempt++
		st.Preemptions++
	case v1alpha1.PhaseRunning:
		setReady(st, st.Replicas)
	}
	for index := range c.at[job.UID] {
		c.put(job, index, stage.state)
	}
	if stage.listed != "" {
		c.list(job, stage.listed)
	}
	c.set(job)
}

// maxTransitions in a status.
const maxTransitions = 20

func enter(st *v1alpha1.TrainingJobStatus, phase v1alpha1.Phase, reason string) {
	st.Phase, st.Message = phase, ""
	all := append(slices.Clone(st.Transitions), v1alpha1.Transition{
		Time: metav1.Now(), Phase: phase, Reason: reason,
	})
	st.Transitions = all[max(0, len(all)-maxTransitions):]
}

// start a job on the nodes of its ranks.
func (c *cluster) start(job *v1alpha1.TrainingJob) {
	st := &job.Status
	st.Replicas, st.GPUs, st.Attempt = *job.Spec.Replicas, int64(*job.Spec.Replicas), 1
	st.Scheduling = &v1alpha1.SchedulingStatus{
		Scheduler: v1alpha1.SchedulerVolcano, Queue: job.Spec.RunPolicy.SchedulingPolicy.Queue,
	}
	st.StartTime, st.Work = new(metav1.Now()), &v1alpha1.WorkStatus{}
	enter(st, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
	setProgress(st, int64(len(job.Name)*37+c.made*97%40_000))
	setReady(st, st.Replicas)
	for index := range c.at[job.UID] {
		c.put(job, index, placement.Running)
	}
	c.list(job, "Running")
}

// end a job and remove its ranks from their nodes.
func (c *cluster) end(job *v1alpha1.TrainingJob) {
	st := &job.Status
	st.Replicas, st.GPUs, st.Attempt = *job.Spec.Replicas, int64(*job.Spec.Replicas), 1
	enter(st, v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted)
	st.CompletionTime = new(metav1.Now())
	setProgress(st, totalSteps)
	setReady(st, 0)
	for index := range c.at[job.UID] {
		c.put(job, index, "")
	}
}

// enqueue a job with a reason that n chooses.
func enqueue(job *v1alpha1.TrainingJob, n int) {
	st := &job.Status
	if st.Phase != v1alpha1.PhaseQueued {
		enter(st, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
	}
	st.Replicas, st.GPUs, st.Attempt = *job.Spec.Replicas, int64(*job.Spec.Replicas), 1
	gpu, free := corev1.ResourceName("nvidia.com/gpu"), int64(n%int(*job.Spec.Replicas))
	st.Scheduling = &v1alpha1.SchedulingStatus{
		Scheduler: v1alpha1.SchedulerVolcano, Queue: job.Spec.RunPolicy.SchedulingPolicy.Queue,
		Blocker: &v1alpha1.Blocker{
			Reason: v1alpha1.ReasonInsufficientResources, ObservedTime: new(metav1.Now()),
			Message: fmt.Sprintf("the gang needs %d GPUs at once, and %d are free", st.GPUs, free),
			Need:    corev1.ResourceList{gpu: *resource.NewQuantity(st.GPUs, resource.DecimalSI)},
			Free:    corev1.ResourceList{gpu: *resource.NewQuantity(free, resource.DecimalSI)},
		},
	}
}

func setReady(st *v1alpha1.TrainingJobStatus, ready int32) {
	st.ReadyReplicas, st.Gang = ready, fmt.Sprintf("%d/%d", ready, st.Replicas)
	st.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
		v1alpha1.RoleWorker: {Replicas: st.Replicas, Active: st.Replicas, Ready: ready},
	}
	if st.Phase == v1alpha1.PhaseRunning {
		st.Message = fmt.Sprintf("%s ranks are ready; step %d of %d", st.Gang, st.Progress.Step, totalSteps)
	}
}

func setProgress(st *v1alpha1.TrainingJobStatus, step int64) {
	step = (step-1)%totalSteps + 1
	left := time.Duration(totalSteps-step) * time.Second
	st.Progress = &v1alpha1.ProgressStatus{
		Attempt: st.Attempt, Step: step, TotalSteps: totalSteps, Percent: new(int32(100 * step / totalSteps)),
		Metrics: map[string]string{
			"loss":              fmt.Sprintf("%.4f", 0.4+4000/float64(step+900)),
			"tokens_per_second": fmt.Sprint(41_000 + step%977),
		},
		ReportedTime: metav1.Now(), EstimatedCompletionTime: new(metav1.NewTime(time.Now().Add(left))),
	}
}
