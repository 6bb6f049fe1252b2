package trainingjob

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// blockerRefresh is how often the words and numbers of a reason that stays the same are written at most, and how often a job
// that waits is looked at though nothing happens to it: what it waits for is mostly no object of its own.
const blockerRefresh = time.Minute

// refreshBlocker keeps the one reason why the job waits, and tells of a new one by one event. A reason is the same while its
// word and its object are; its words are refreshed at most once a minute, so that a scheduler that rewords its complaint
// every second causes no writes.
func (p *pass) refreshBlocker() {
	st := &p.plan.Status
	if st.Phase.Finished() || st.Phase == v1alpha1.PhaseSuspended || st.Phase == v1alpha1.PhaseRestarting {
		return
	}
	if st.Phase == v1alpha1.PhaseQueued {
		// Pods that come and go are mostly the end of the wait, and a job that starts at once asks for no reason at all.
		if len(p.plan.Create) > 0 {
			p.wakeAt(p.Now.Add(StatusDelay), true)
			return
		}
		if !p.settled() {
			p.wakeAt(p.settlesAt(), true)
			return
		}
	}
	old := p.currentBlocker()
	now, blocked := p.blocker()
	if old == nil && !blocked {
		return
	}
	p.wakeAt(p.Now.Add(blockerRefresh), blocked && st.Phase == v1alpha1.PhaseQueued)
	same := old != nil && blocked && old.Reason == now.Reason && old.Object == now.Object
	told := same && old.ObservedTime != nil
	if told && sameWords(old, &now) {
		return
	}
	if due := p.blockerDue(old, same); p.Now.Before(due) {
		p.wakeAt(due, true)
		return
	}
	if !blocked {
		if st.Phase != v1alpha1.PhaseQueued { // there the transition that ends the wait clears it, for nothing
			st.Scheduling.Blocker = nil
		}
		return
	}
	p.block(now)
	if st.Phase != v1alpha1.PhaseRunning {
		st.Message = "waiting: " + now.Message
	}
	p.setConditions()
	if !told {
		p.note("waits: %s: %s", now.Reason, now.Message)
		p.tellWait(now)
	}
}

// blockerDue is when a reason may be written. What every attempt begins with is worth no write before it lasts.
func (p *pass) blockerDue(old *v1alpha1.Blocker, same bool) time.Time {
	switch {
	case !same:
		return p.settlesAt()
	case old.ObservedTime == nil:
		return p.phaseSince().Add(blockerRefresh)
	}
	return old.ObservedTime.Add(blockerRefresh)
}

func sameWords(a, b *v1alpha1.Blocker) bool {
	return a.Message == b.Message && a.NextStep == b.NextStep &&
		apiequality.Semantic.DeepEqual(a.Need, b.Need) && apiequality.Semantic.DeepEqual(a.Free, b.Free)
}

// passing reasons end by themselves; every other one is a warning, for somebody must act.
var passing = []string{
	v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonWaitingBehind, v1alpha1.ReasonWaitingInQueue,
	v1alpha1.ReasonUnschedulable, v1alpha1.ReasonNotJudged, v1alpha1.ReasonTerminating, v1alpha1.ReasonAdmissionCheckPending,
}

// tellWait is the one event of a reason. A reason that comes back within the attempt is not told again.
func (p *pass) tellWait(b v1alpha1.Blocker) {
	message := b.Message
	if b.NextStep != "" {
		message += "; " + b.NextStep
	}
	p.event(!slices.Contains(passing, b.Reason), b.Reason, "Wait", "%s", message)
	p.plan.Events[len(p.plan.Events)-1].Once = b.Reason + " " + b.Object
}

func (p *pass) currentBlocker() *v1alpha1.Blocker {
	if s := p.plan.Status.Scheduling; s != nil {
		return s.Blocker
	}
	return nil
}

func (p *pass) block(b v1alpha1.Blocker) {
	if p.plan.Status.Scheduling == nil {
		p.plan.Status.Scheduling = &v1alpha1.SchedulingStatus{Queue: Queue(p.job)}
	}
	t := p.now()
	b.ObservedTime = &t
	p.plan.Status.Scheduling.Blocker = &b
}

// blockAtFirst is what every attempt waits for in its first moment. It is assumed and not observed, so nothing tells of it.
func (p *pass) blockAtFirst() {
	p.plan.Status.Scheduling.Blocker = &v1alpha1.Blocker{
		Reason: v1alpha1.ReasonNotJudged, Message: "the scheduler has just been told of the gang",
	}
}

// blocker is the one reason why the gang does not run: what stands in the operator's own way first, then what is known of
// the scheduler and the cluster (scheduler.Explain has the order), then what the scheduler says.
func (p *pass) blocker() (v1alpha1.Blocker, bool) {
	if b, hung := p.hangingPods(); hung {
		return b, true
	}
	switch p.job.Status.Phase {
	case v1alpha1.PhaseDraining:
		if p.search() != nil && p.CreateBackoff != nil {
			return p.CreateBackoff.Blocker, true
		}
		return v1alpha1.Blocker{}, false
	case v1alpha1.PhaseRunning, v1alpha1.PhaseStarting:
		if p.CreateBackoff != nil {
			return p.CreateBackoff.Blocker, true
		}
		return p.imageProblem()
	}
	switch {
	case p.Backend == nil && p.SchedulerProblem != nil:
		return *p.SchedulerProblem, true
	case len(p.obs.stale) > 0:
		return v1alpha1.Blocker{
			Reason:  v1alpha1.ReasonTerminating,
			Message: "pods of the last attempt are still there, first " + firstName(p.obs.stale),
		}, true
	case p.CreateBackoff != nil:
		return p.CreateBackoff.Blocker, true
	case p.obs.placed() >= p.min:
		return v1alpha1.Blocker{}, false
	}
	// Also where the scheduler has said yes: that was long enough ago (see refreshBlocker) for its deeds to count.
	return p.waitReason(), true
}

// waitReason of a gang that the operator itself holds up in nothing.
func (p *pass) waitReason() v1alpha1.Blocker {
	if p.Why != nil {
		if e, known := p.Why(); known {
			return v1alpha1.Blocker{
				Reason: e.Reason, Object: e.Object, Message: e.Message, Need: e.Need, Free: e.Free, NextStep: e.NextStep,
			}
		}
	}
	if v := p.Verdict; v.Reason != "" {
		return v1alpha1.Blocker{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}
	}
	if message := p.unplaced(); message != "" {
		return v1alpha1.Blocker{Reason: v1alpha1.ReasonUnschedulable, Message: message}
	}
	b := v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonWaitingInQueue,
		Message: fmt.Sprintf("not placed yet by %s: %s, minAvailable %d", p.where(), p.size(), p.min),
	}
	if !p.Verdict.Judged {
		// There is room, nobody is before it, and no word of the scheduler's is anywhere.
		b.Reason, b.Message = v1alpha1.ReasonNotJudged, fmt.Sprintf("not judged yet by %s: %s, minAvailable %d", p.where(), p.size(), p.min)
		b.NextStep = "if this lasts, see that the scheduler runs"
	}
	return b
}

// unplaced is what the scheduler wrote on the first rank that it could not place.
func (p *pass) unplaced() string {
	for i := range p.obs.ranks {
		if r := &p.obs.ranks[i]; r.state == rankPending {
			if c := condition(r.pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Message != "" {
				return c.Message
			}
		}
	}
	return ""
}

// imagePulls are the kubelet's words for an image that it does not get (k8s.io/kubernetes/pkg/kubelet/images/types.go). They
// alternate while it tries again, and so do its messages: neither is repeated in the blocker.
var imagePulls = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}

// imageProblem of a gang that has its nodes and does not start.
func (p *pass) imageProblem() (v1alpha1.Blocker, bool) {
	if p.job.Status.Phase != v1alpha1.PhaseStarting {
		return v1alpha1.Blocker{}, false
	}
	var first *corev1.Pod
	var images []string
	var ranks int32
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		image := ""
		if r.state == rankBound {
			image = imageMissing(r.pod)
		}
		if image == "" {
			continue
		}
		ranks++
		first = cmp.Or(first, r.pod)
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	if first == nil {
		return v1alpha1.Blocker{}, false
	}
	slices.Sort(images)
	return v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonImagePullFailed,
		Message: fmt.Sprintf("the nodes cannot pull image %s for %s of %d", strings.Join(images, ", "), plural(ranks, "rank"), len(p.obs.ranks)),
		NextStep: fmt.Sprintf("kubectl describe pod %s -n %s shows the registry's answer: correct the image's name, or give the job imagePullSecrets",
			first.Name, first.Namespace),
	}, true
}

// imageMissing is the image that a pod's kubelet cannot get; "" when there is none.
func imageMissing(pod *corev1.Pod) string {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if w := list[i].State.Waiting; w != nil && slices.Contains(imagePulls, w.Reason) {
				return list[i].Image
			}
		}
	}
	return ""
}

// hangingPods finds pods whose deletion hangs on a node that does not answer. Waiting is the only safe thing: their
// containers may still run, and a second rank beside them would train against them.
func (p *pass) hangingPods() (v1alpha1.Blocker, bool) {
	var nodes []string
	for _, pod := range p.Pods {
		if p.onLostNode(pod) && !slices.Contains(nodes, pod.Spec.NodeName) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	if len(nodes) == 0 {
		return v1alpha1.Blocker{}, false
	}
	slices.Sort(nodes)
	list := strings.Join(nodes, ", ")
	return v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonNodeLost,
		Message:  "ranks cannot be ended: node " + list + " does not answer, they may still run there",
		NextStep: "when the machine is known to be off, delete the node or taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
	}, true
}

func firstName(pods []*corev1.Pod) string {
	return slices.MinFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }).Name
}
