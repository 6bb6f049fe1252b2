//go:build cluster

package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
)

const (
	// chaosPopulation is how many unfinished jobs there are at each fault. They want about twice the GPUs that
	// the nodes have.
	chaosPopulation = 7
	// chaosPause is the longest pause after a fault.
	chaosPause = 400 * time.Millisecond
	// calmTimeout bounds the wait for the end of all jobs. The longest backoff is 6 minutes, and a job may have
	// it twice.
	calmTimeout = 20 * time.Minute
)

// errNotCalm is why a round ends whose jobs do not.
var errNotCalm = fmt.Errorf("not within %s", calmTimeout)

// chaos is a round: jobs come and go while faults strike.
type chaos struct {
	*Env
	random *rand.Rand
	// broker draws the parts that jobs and faults take in preemption by the broker; nil: the broker is off.
	broker *rand.Rand
	// amid counts the faults that hit while the operator carried out a plan.
	amid Tally
	// jobs counts those that were submitted; deleted and failed hold the names of those that a fault deleted, or
	// of which it has failed a rank.
	jobs            int
	deleted, failed map[string]bool
	// repairs undo a fault after that many more faults.
	repairs []repair
	// broken holds what is under repair: a node, a job, the scheduler.
	broken map[string]bool
	// recreated holds the names of nodes that were deleted and recreated.
	recreated map[string]bool
	hits      Tally
}

type repair struct {
	of    string
	after int
	do    func(context.Context) error
}

func newChaos(e *Env, random, broker *rand.Rand) *chaos {
	return &chaos{
		Env: e, random: random, broker: broker, amid: Tally{}, deleted: map[string]bool{},
		failed: map[string]bool{}, broken: map[string]bool{},
		recreated: map[string]bool{}, hits: Tally{},
	}
}

// populate submits jobs until there are enough that have not finished.
func (c *chaos) populate(ctx context.Context) error {
	v, err := c.look(ctx)
	if err != nil {
		return err
	}
	unfinished := 0
	for _, job := range v.jobs {
		if !job.Status.Phase.Finished() {
			unfinished++
		}
	}
	population := chaosPopulation
	if c.broker != nil {
		population = brokerPopulation
	}
	for ; unfinished < population; unfinished++ {
		job := c.drawJob(needsVictim(v))
		if err := c.cluster.client.Create(ctx, job); err != nil {
			return err
		}
		v.jobs[job.Name] = job
	}
	return nil
}

// drawJob returns the next job, with its part in preemption by the broker if
// that is on.
func (c *chaos) drawJob(victim bool) *v1alpha1.TrainingJob {
	job := c.drawShape()
	if c.broker != nil {
		joinBroker(job, c.broker, victim)
	}
	return job
}

// drawShape returns a job of one to four ranks, of one of three priorities. Half of them train with
// checkpoints, the others run for a while and exit 0; half of those do so at SIGTERM too.
func (c *chaos) drawShape() *v1alpha1.TrainingJob {
	c.jobs++
	a := jobSpec{
		name: fmt.Sprintf("gang-%d", c.jobs), ranks: 1 + c.random.Int32N(4),
		gpus:         []int32{2, 4, 8}[c.random.IntN(3)],
		class:        []string{low, middle, high}[c.random.IntN(3)],
		backoffLimit: ptr.To[int32](1000),
	}
	if c.random.IntN(2) == 0 {
		reaction := []simtrainer.OnSIGTERM{
			simtrainer.Save, simtrainer.Die, simtrainer.SaveUnheard,
		}[c.random.IntN(3)]
		a.trainer = "steps=300 rate=100 every=500ms save=50ms start=100ms on-sigterm=" + string(reaction)
		return a.job(c.Env)
	}
	a.roles = []roleSpec{{role: v1alpha1.RoleWorker, ranks: a.ranks, gpus: a.gpus}}
	job := a.job(c.Env)
	worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	worker.Template.Annotations = map[string]string{
		localcluster.AnnotationRunSeconds: fmt.Sprint(1 + c.random.IntN(5)),
	}
	if c.random.IntN(2) == 0 { // its work is lost in any case
		worker.Template.Annotations[localcluster.AnnotationSIGTERMExitCode] = "0"
	}
	job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
	return job
}

// strike one fault, after the repairs that are due, and let the cluster go on for a moment.
func (c *chaos) strike(ctx context.Context, fault Fault) error {
	if err := c.repair(ctx, false); err != nil {
		return err
	}
	if err := c.populate(ctx); err != nil {
		return err
	}
	plans, _ := c.planned()
	hit, err := c.faults()[fault](ctx)
	if unanswered(err) {
		hit, err = "", nil
	}
	if err != nil {
		return fmt.Errorf("fault %s: %w", fault, err)
	}
	if hit != "" {
		c.hits[fault]++
		if len(plans) > 0 {
			c.amid[fault]++
		}
		c.recorder.remark("fault %d, %s: %s", c.hits.Total(), fault, hit)
	}
	if err := c.operator.problem(); err != nil {
		return err
	}
	pause := time.Duration(c.random.Int64N(int64(chaosPause)))
	if c.broker != nil {
		pause *= c.slowness()
	}
	return c.pause(ctx, pause)
}

// mend something after 2 to 9 more faults.
func (c *chaos) mend(of string, do func(context.Context) error) {
	c.broken[of] = true
	c.repairs = append(c.repairs, repair{of: of, after: 2 + c.random.IntN(8), do: do})
}

// repair what is due; everything if all is true, processes first. What cannot be repaired because a webhook
// of Kueue does not answer is tried again with the next fault, or, if all is true, until it can be.
func (c *chaos) repair(ctx context.Context, all bool) error {
	var later []repair
	if all {
		slices.SortStableFunc(c.repairs, func(a, b repair) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	for _, r := range c.repairs {
		if r.after--; r.after > 0 && !all {
			later = append(later, r)
			continue
		}
		err := r.do(ctx)
		for all && unanswered(err) {
			if err = c.pause(ctx, chaosPause); err == nil {
				err = r.do(ctx)
			}
		}
		switch {
		case unanswered(err):
			later = append(later, r)
			continue
		case err != nil:
			return fmt.Errorf("repairing %s: %w", r.of, err)
		}
		delete(c.broken, r.of)
		c.recorder.remark("%s is repaired", r.of)
	}
	c.repairs = later
	return nil
}

// rank orders repairs that are made at once.
func (r repair) rank() int {
	if strings.HasPrefix(r.of, "process ") {
		return 0
	}
	return 1
}

// unanswered reports whether the API server refused a write because a webhook did not answer, as Kueue's does
// not while Kueue is stopped or starts. The other writers retry.
func unanswered(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

func (c *chaos) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// calm repairs everything and waits until every job that is left has succeeded, with neither pods nor groups
// that hold anything.
func (c *chaos) calm(ctx context.Context) error {
	c.recorder.remark("the faults are over")
	ctx, cancel := context.WithTimeoutCause(ctx, calmTimeout, errNotCalm)
	defer cancel()
	if err := c.repair(ctx, true); err != nil {
		return err
	}
	err := c.recorder.until(ctx, func(v *view) string {
		for _, name := range slices.Sorted(maps.Keys(v.jobs)) {
			job := v.jobs[name]
			if job.Status.Phase != v1alpha1.PhaseSucceeded {
				return fmt.Sprintf("%s is %s: %s", name, cmp.Or(string(job.Status.Phase), "new"), job.Status.Message)
			}
			for _, group := range v.groupsOf(name) {
				if c.dialect.released == nil || !c.dialect.released(group) {
					return fmt.Sprintf("group %s of %s is left", group.GetName(), name)
				}
			}
			for _, pod := range v.podsOf(name) {
				if Live(pod) {
					return fmt.Sprintf("pod %s of %s lives", pod.Name, name)
				}
			}
		}
		return ""
	})
	if err != nil {
		return err
	}
	return c.checkFinal(ctx)
}

// checkFinal checks what the final status of each job says against what happened.
func (c *chaos) checkFinal(ctx context.Context) error {
	v, err := c.look(ctx)
	if err != nil {
		return err
	}
	if left := c.jobs - len(c.deleted); len(v.jobs) != left {
		return fmt.Errorf("%d jobs are left, want %d", len(v.jobs), left)
	}
	history := c.recorder.soFar()
	for name, job := range v.jobs {
		st := job.Status
		if fell := history.FallsBack(job.UID); fell != "" {
			return fmt.Errorf("%s: %s", name, fell)
		}
		// A failure is the one fault of a job that spends a restart, and each job has at most one. A rank that
		// exits 1 while its gang ends for another reason spends none.
		if most := map[bool]int32{true: 1}[c.failed[name]]; st.Restarts > most {
			return fmt.Errorf("%s has spent %d restarts on %d failures", name, st.Restarts, most)
		}
		if starts := history.Starts(job.UID); st.Attempt < starts {
			return fmt.Errorf("%s says attempt %d, and its ranks were started %d times", name, st.Attempt, starts)
		}
		if job.Spec.Checkpoint == nil {
			continue
		}
		if st.Checkpoint == nil || st.Checkpoint.Latest == nil || st.Checkpoint.Latest.Step != 300 {
			return fmt.Errorf("%s has succeeded, and its last checkpoint is %+v, not step 300", name, st.Checkpoint)
		}
	}
	return nil
}

func (c *chaos) result() roundResult {
	r := roundResult{
		Hits: c.hits, Amid: c.amid, Broker: TallyBroker(c.recorder.soFar()),
		Jobs: c.jobs, Deleted: len(c.deleted), Kills: c.hits[KillOperator],
	}
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	for _, job := range c.recorder.view.jobs {
		st := job.Status
		r.Attempts += int(st.Attempt)
		r.Preemptions += int(st.Preemptions)
		r.Restarts += int(st.Restarts)
		if st.Phase == v1alpha1.PhaseSucceeded {
			r.Succeeded++
		}
	}
	return r
}

// rules of a round. Which GPUs of a node are in use is the scheduler's to know, and not every scheduler does
// where a node comes back under its name before the pods of its former life are gone: Volcano 1.15.1 gives
// their GPUs out again (cache/event_handlers.go: RemoveNode forgets its tasks, AddOrUpdateNode does not look
// for them).
func (c *chaos) rules() Rules {
	capacity := maps.Clone(c.nodes)
	maps.DeleteFunc(capacity, func(name string, _ int64) bool { return c.recreated[name] })
	return Rules{
		Capacity: capacity, Backend: c.dialect.backend, ClusterObjects: c.dialect.clusterObjects,
		Races: 2 * time.Second,
	}
}

// pick one of the things that match; false if there is none.
func pick[T any](random *rand.Rand, from []T) (one T, ok bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[random.IntN(len(from))], true
}

// unbroken are the names of nodes that no fault has taken; none where only one would be left.
func (c *chaos) unbroken() []string {
	var names []string
	for name := range c.nodes {
		if !c.broken["node "+name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) < 3 {
		return nil
	}
	return aimAtPlan(c, names, nodeIsPlanned)
}

// livePod is one that has not ended, of a job that lives.
func (c *chaos) livePods(ctx context.Context, bound bool) ([]*corev1.Pod, error) {
	v, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for _, pod := range v.pods {
		if Live(pod) && pod.DeletionTimestamp == nil && (!bound || pod.Spec.NodeName != "") {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// unfinished jobs that no fault holds.
func (c *chaos) unfinished(ctx context.Context) ([]*v1alpha1.TrainingJob, error) {
	v, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []*v1alpha1.TrainingJob
	for _, name := range slices.Sorted(maps.Keys(v.jobs)) {
		if job := v.jobs[name]; !job.Status.Phase.Finished() && !c.broken["job "+name] && !c.deleted[name] {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}
