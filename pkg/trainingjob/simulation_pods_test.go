package trainingjob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Simulated pods. Snapshots share them, so each change replaces a pod with an edited copy.

func (sim *simulation) createRank(rank spec.RankRef) {
	if spec.NeedsSSH(sim.job) && spec.SSHKey(sim.job) == nil { // the controller does it before the first rank
		key := "ssh-ed25519 AAAA"
		sim.job.Status.MPI = &v1alpha1.MPIStatus{
			SSHPublicKey: key, SSHSecretName: spec.SSHSecretName(sim.job, key),
		}
	}
	pod, err := render.Pod(sim.job, rank, sim.job.Status.Attempt, sim.verdict.Admitted, sim.agent, nil)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.write(pod)
	sim.checkResumePath(pod)
	sim.checkMLflow(pod)
	sim.checkNamesOf(sim.job.Status.Attempt)
	sim.sendBeatsFrom(pod)
	sim.inject(pod)
	sim.addPod(pod)
}

func (sim *simulation) createResolver() {
	pod, err := render.Resolver(sim.job, sim.agent)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.write(pod)
	sim.addPod(pod)
	sim.logf("  create %s", pod.Name)
}

func (sim *simulation) addPod(pod *corev1.Pod) {
	if sim.findPod(pod.Name) != nil {
		sim.t.Fatalf("pod %s exists already", pod.Name)
	}
	sim.podsCreated++
	pod.UID = types.UID(fmt.Sprint("pod-", sim.podsCreated))
	pod.Generation = 1
	pod.CreationTimestamp = metav1.NewTime(sim.now)
	pod.Status.Phase = corev1.PodPending
	sim.pods = append(sim.pods, pod)
}

// deletePod deletes a pod; a running pod gets its grace period.
func (sim *simulation) deletePod(old *corev1.Pod) {
	i := slices.IndexFunc(sim.pods, func(p *corev1.Pod) bool { return p.UID == old.UID })
	if i < 0 {
		return
	}
	pod := sim.pods[i].DeepCopy()
	if pod.DeletionTimestamp == nil {
		grace := int64(0)
		if pod.Spec.NodeName != "" && !observation.Ended(pod) {
			grace = 30
			if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
				grace = *g
			}
		}
		setDeletion(pod, sim.now, grace)
		pod.Generation++
	}
	sim.pods[i] = pod
	if sim.hanging[pod.UID] {
		return
	}
	if !sim.podsLinger || observation.Ended(pod) || pod.Spec.NodeName == "" {
		sim.removePod(pod.Name)
	}
}

func setDeletion(pod *corev1.Pod, asked time.Time, grace int64) {
	at := seconds(asked.Add(time.Duration(grace) * time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
}

// seconds truncates a time as the API server does.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// removePod removes a pod from the API server. The kubelet does it with a second deletion, which replaces the
// time and the grace period of the first.
func (sim *simulation) removePod(name string) {
	if pod := sim.findPod(name); pod != nil {
		pod = pod.DeepCopy()
		setDeletion(pod, sim.now, 0)
		named := func(p *corev1.Pod) bool { return p.Name == name }
		sim.departed = append(slices.DeleteFunc(sim.departed, named), pod)
		sim.pods = slices.DeleteFunc(sim.pods, named)
	}
}

// removeTerminating removes all terminating pods from the API server.
func (sim *simulation) removeTerminating() {
	for _, pod := range slices.Clone(sim.pods) {
		if pod.DeletionTimestamp != nil && !sim.hanging[pod.UID] {
			sim.removePod(pod.Name)
		}
	}
}

// loseAllPods removes the pods of all ranks, without a deletion event for the operator.
func (sim *simulation) loseAllPods() {
	for _, name := range sim.rankNames() {
		sim.removePod(name)
	}
	sim.departed = nil
}

func (sim *simulation) findPod(name string) *corev1.Pod {
	for _, p := range sim.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// updatePod replaces a pod with an edited copy.
func (sim *simulation) updatePod(name string, edit func(*corev1.Pod)) {
	i := slices.IndexFunc(sim.pods, func(p *corev1.Pod) bool { return p.Name == name })
	if i < 0 {
		sim.t.Fatalf("no pod %s", name)
	}
	pod := sim.pods[i].DeepCopy()
	edit(pod)
	sim.pods[i] = pod
}

// rankNames returns the names of the pods of all ranks.
func (sim *simulation) rankNames() []string {
	var names []string
	for _, p := range sim.pods {
		if !render.IsResolver(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// bind binds the named pods, or all ranks, each to its own node.
func (sim *simulation) bind(names ...string) {
	for i, name := range orAll(names, sim.rankNames()) {
		sim.bindTo(fmt.Sprint("node-", i), name)
	}
	sim.logf("the scheduler binds %d pods", len(orAll(names, sim.rankNames())))
}

// bindTo binds a pod to a node, which is Ready.
func (sim *simulation) bindTo(node, name string) {
	sim.nodes[node] = observation.NodeState{Ready: true, Domain: sim.domains[node]}
	sim.updatePod(name, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		sim.addCondition(p, corev1.PodScheduled)
	})
}

// start makes the named pods, or all ranks, running and ready.
func (sim *simulation) start(names ...string) {
	for _, name := range orAll(names, sim.rankNames()) {
		sim.updatePod(name, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
			sim.addCondition(p, corev1.PodReady)
			setContainerState(p, corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(sim.now)},
			})
			startProxy(p)
		})
	}
	sim.logf("%d pods are running", len(orAll(names, sim.rankNames())))
}

func (sim *simulation) bindAndStart(names ...string) {
	sim.bind(names...)
	sim.start(names...)
}

func (sim *simulation) addCondition(p *corev1.Pod, t corev1.PodConditionType) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(sim.now),
	})
}

// exit ends the named pods, or all ranks, with an exit code.
func (sim *simulation) exit(code int32, names ...string) { sim.exitAt(sim.now, code, names...) }

// exitAt is exit with an earlier end that the kubelet reports now.
func (sim *simulation) exitAt(at time.Time, code int32, names ...string) {
	for _, name := range orAll(names, sim.rankNames()) {
		sim.recordSuccess(sim.findPod(name), at, code)
		if restartsInPlace(sim.findPod(name), code) {
			sim.restartAfter(terminated(at, code), []string{name})
		} else {
			sim.endTrainer(name, terminated(at, code))
		}
	}
	sim.logf("%s: exit code %d", strings.Join(orAll(names, []string{"all"}), ", "), code)
}

// terminated returns the state of a container that ended by itself.
func terminated(at time.Time, code int32) corev1.ContainerStateTerminated {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: "the log's last line", FinishedAt: seconds(at),
	}
}

// endTrainer ends the trainer of a pod, and the pod if nothing else runs in it.
func (sim *simulation) endTrainer(name string, end corev1.ContainerStateTerminated) {
	sim.updatePod(name, func(p *corev1.Pod) {
		setContainerState(p, corev1.ContainerState{Terminated: &end})
		sim.setPhase(p)
	})
}

// restartNode ends ranks whose kubelet finds no container any more, so that their ends were not observed.
func (sim *simulation) restartNode(names ...string) {
	for _, name := range names {
		sim.updatePod(name, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			setContainerState(p, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: "ContainerStatusUnknown",
				Message: "The container could not be located when the pod was terminated",
			}})
		})
	}
	sim.logf("the node of %s restarts", strings.Join(names, ", "))
}

// recordSuccess records a rank that exits 0 before it was stopped.
func (sim *simulation) recordSuccess(pod *corev1.Pod, at time.Time, code int32) {
	d := sim.job.Status.Drain
	requested := d != nil && d.CommandID != ""
	marked := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && !c.LastTransitionTime.After(at)
	})
	grace := time.Duration(0)
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	deleted := pod.DeletionTimestamp != nil && !pod.DeletionTimestamp.Add(-grace).After(at)
	if code == 0 && !requested && !marked && !deleted {
		sim.succeeded[sim.rankKey(pod.Name)] = true
	}
}

func (sim *simulation) rankKey(pod string) string {
	return fmt.Sprint(sim.job.Status.Attempt, " ", pod)
}

// restartContainers makes the containers of ranks end with exit code 1, after which their kubelets restart
// them.
func (sim *simulation) restartContainers(names ...string) {
	sim.restartAfter(corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", FinishedAt: seconds(sim.now),
	}, names)
	sim.logf("the containers of %s restart", strings.Join(names, ", "))
}

// restartNodeInPlace restarts the node of a rank, whose kubelet restarts the container.
func (sim *simulation) restartNodeInPlace(name string) {
	sim.restartAfter(corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}, []string{name})
	sim.logf("the node of %s restarts, and then its container", name)
}

func (sim *simulation) restartAfter(end corev1.ContainerStateTerminated, names []string) {
	for _, name := range names {
		sim.updatePod(name, func(p *corev1.Pod) {
			n := p.Status.ContainerStatuses[0].RestartCount
			setContainerState(p, corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: seconds(sim.now)},
			})
			s := &p.Status.ContainerStatuses[0]
			s.RestartCount, s.LastTerminationState.Terminated = n+1, &end
		})
	}
}

// setInitRestarts sets how often the kubelet has restarted the first init container of a rank, now last.
func (sim *simulation) setInitRestarts(name string, n int32) {
	sim.updatePod(name, func(p *corev1.Pod) {
		s := &p.Status.InitContainerStatuses[0]
		s.RestartCount = n
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", FinishedAt: seconds(sim.now),
		}
	})
	sim.logf("the init container of %s has been restarted %d times", name, n)
}

// failImagePull makes a rank wait for an image that its kubelet cannot pull.
func (sim *simulation) failImagePull(name, reason string) {
	sim.updatePod(name, func(p *corev1.Pod) {
		setContainerState(p, corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "changes all the time"},
		})
		p.Status.ContainerStatuses[0].Image = "bert:1"
	})
	sim.logf("the kubelet of %s reports %s", name, reason)
}

// holdContainer makes the container of a rank wait.
func (sim *simulation) holdContainer(name, reason, message string) {
	sim.updatePod(name, func(p *corev1.Pod) { setContainerState(p, waiting(reason, message)) })
	sim.logf("the kubelet of %s reports %s", name, reason)
}

// holdInitContainer makes a rank wait for an init container.
func (sim *simulation) holdInitContainer(name, reason, message string) {
	sim.updatePod(name, func(p *corev1.Pod) {
		setContainerState(p, waiting("PodInitializing", ""))
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "fetch", State: waiting(reason, message)}}
	})
	sim.logf("the kubelet of %s reports %s", name, reason)
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// advanceToStartTimeout advances to the start timeout of the gang.
func (sim *simulation) advanceToStartTimeout() {
	ts := sim.job.Status.Transitions
	sim.advance(ts[len(ts)-1].Time.Add(30 * time.Minute).Sub(sim.now))
}

// preempt sets DisruptionTarget and deletes pods as schedulers do.
func (sim *simulation) preempt(names ...string) {
	sim.logf("the scheduler preempts %s", strings.Join(names, ", "))
	for _, name := range names {
		sim.updatePod(name, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason:  corev1.PodReasonPreemptionByScheduler,
				Message: "preempting to accommodate a higher priority pod",

				LastTransitionTime: seconds(sim.now),
			})
		})
		sim.deletePod(sim.findPod(name))
	}
}

// setContainerState sets the state of the trainer, whose status is the first.
func setContainerState(p *corev1.Pod, state corev1.ContainerState) {
	others := slices.DeleteFunc(p.Status.ContainerStatuses,
		func(s corev1.ContainerStatus) bool { return s.Name != proxy })
	p.Status.ContainerStatuses = append([]corev1.ContainerStatus{{Name: trainerIn(p), State: state}}, others...)
}

func orAll(names, all []string) []string {
	if len(names) == 0 {
		return all
	}
	return names
}
