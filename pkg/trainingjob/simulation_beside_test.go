package trainingjob

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// beside is what an admission webhook adds to each pod.
type beside string

const (
	besideNothing beside = ""
	besideProxy   beside = "container" // an ordinary container, before the trainer's
	besideNative  beside = "native"    // a native sidecar: an init container that is always restarted
)

// proxy is the name of the added container.
const proxy = "istio-proxy"

// inject adds a container as an admission webhook does.
func (sim *simulation) inject(pod *corev1.Pod) {
	c := corev1.Container{Name: proxy, Image: "proxy:1"}
	switch sim.beside {
	case besideProxy:
		pod.Spec.Containers = slices.Insert(pod.Spec.Containers, 0, c)
	case besideNative:
		c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
}

// trainerIn returns the name of the container that is not the proxy.
func trainerIn(p *corev1.Pod) string {
	i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name != proxy })
	return p.Spec.Containers[i].Name
}

// proxyOf returns the status of the proxy, and whether it is a native sidecar; nil without a proxy.
func proxyOf(p *corev1.Pod) (status *corev1.ContainerStatus, native bool) {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == proxy {
			return s, false
		}
	}
	for i := range p.Status.InitContainerStatuses {
		if s := &p.Status.InitContainerStatuses[i]; s.Name == proxy {
			return s, true
		}
	}
	return nil, false
}

// startProxy makes the proxy of a pod run, if it has one.
func startProxy(p *corev1.Pod) {
	status := corev1.ContainerStatus{
		Name: proxy, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
	isProxy := func(c corev1.Container) bool { return c.Name == proxy }
	switch {
	case slices.ContainsFunc(p.Spec.Containers, isProxy):
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
	case slices.ContainsFunc(p.Spec.InitContainers, isProxy):
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{status}
	}
}

// setPhase sets the phase of a pod whose trainer has ended, as a kubelet does: the pod has ended once all its
// containers have, and native sidecars do not decide how.
func (sim *simulation) setPhase(p *corev1.Pod) {
	if !sim.oldKubelets {
		p.Status.ObservedGeneration = p.Generation
	}
	beside, native := proxyOf(p)
	if beside != nil && beside.State.Terminated == nil || !trainerEnded(p) {
		return
	}
	p.Status.Phase = corev1.PodSucceeded
	failed := p.Status.ContainerStatuses[0].State.Terminated.ExitCode != 0
	if failed || beside != nil && !native && beside.State.Terminated.ExitCode != 0 {
		p.Status.Phase = corev1.PodFailed
	}
}

// trainerEnded reports whether the trainer of a pod has ended.
func trainerEnded(p *corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Terminated != nil
}

// restartsInPlace reports whether a kubelet restarts the trainer of a pod that a proxy keeps running. (Other
// stories end the pod instead.)
func restartsInPlace(p *corev1.Pod, code int32) bool {
	beside, _ := proxyOf(p)
	return beside != nil && code != 0 && p.DeletionTimestamp == nil &&
		p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
}

// outlived reports whether the trainer of a pod has ended, and the pod has not.
func outlived(p *corev1.Pod) bool { return trainerEnded(p) && !observation.Ended(p) }

// endProxy ends the proxies of pods.
func (sim *simulation) endProxy(code int32, names ...string) {
	for _, name := range names {
		sim.updatePod(name, func(p *corev1.Pod) {
			status, _ := proxyOf(p)
			status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, FinishedAt: seconds(sim.now),
			}}
			sim.setPhase(p)
		})
		sim.logf("%s: the proxy exits %d, the pod is %s", name, code, sim.findPod(name).Status.Phase)
	}
}
