package kueue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// newWorkload returns the Workload of a gang: a new one, or the current one as it should be. It leaves
// spec.active to Kueue and to admins.
func newWorkload(g scheduler.Gang) (*kueuev1beta2.Workload, error) {
	before := current(g, g.Existing)
	ref, value, err := priorityOf(g, before)
	if err != nil {
		return nil, err
	}
	meta := workloadMeta(g)
	meta.Annotations = copiedAnnotations(g, before)
	ofRoles := g
	ofRoles.JobAnnotations = nil
	meta.Annotations[podSetsAnnotation] = hashOf(podSets(ofRoles))
	if recalls := recallsOf(g); recalls != "" {
		meta.Annotations[recallsAnnotation] = recalls
	}
	wl := &kueuev1beta2.Workload{
		TypeMeta: metav1.TypeMeta{
			APIVersion: workloadKind.GroupVersion().String(), Kind: workloadKind.Kind,
		},
		ObjectMeta: meta,
		Spec: kueuev1beta2.WorkloadSpec{
			PodSets:                     podSets(g),
			QueueName:                   kueuev1beta2.LocalQueueName(g.Queue),
			PriorityClassRef:            ref,
			Priority:                    value,
			MaximumExecutionTimeSeconds: maxExecutionTime(g),
			PreemptionGates:             preemptionGates(g),
		},
	}
	if before != nil && isSettled(before) {
		keepSettled(&wl.Spec, *before.Spec.DeepCopy())
	}
	return wl, nil
}

// workloadMeta returns the metadata of the gang's Workload.
func workloadMeta(g scheduler.Gang) metav1.ObjectMeta {
	meta := g.ObjectMeta(WorkloadName(g))
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels[jobUIDLabel] = string(g.Owner.UID)
	// Without the finalizer a deleted Workload disappears immediately, and Kueue assigns its quota to others
	// while the pods still run.
	meta.Finalizers = []string{kueuev1beta2.ResourceInUseFinalizerName}
	return meta
}

// WorkloadName returns the name of the gang's Workload: of the current one, else of a new one.
func WorkloadName(g scheduler.Gang) string { return nameOf(g, g.Existing) }

// nameOf returns the name of the current Workload among the existing ones, else that of a new one: the job's
// name, cut so that the result fits into a DNS label, and a hash of its content. A Workload that must be
// deleted may have that name although it was changed since, so each try has another hash.
func nameOf(g scheduler.Gang, objs []client.Object) string {
	if name := prebuiltName(g); name != "" {
		return name
	}
	if wl := current(g, objs); wl != nil {
		return wl.Name
	}
	all := workloadsIn(objs)
	for try := 0; ; try++ {
		name := newName(g, try)
		if !slices.ContainsFunc(all, func(wl *kueuev1beta2.Workload) bool { return wl.Name == name }) {
			return name
		}
	}
}

func newName(g scheduler.Gang, try int) string {
	hash := hashOf(struct {
		Owner   string
		Queue   string
		Class   classKey
		MaxTime *int32
		PodSets []kueuev1beta2.PodSet
		Try     int   `json:",omitempty"`
		Recalls int32 `json:",omitempty"`
	}{string(g.Owner.UID), g.Queue, classKeyOf(g), maxExecutionTime(g), podSets(g), try, g.Recalls})
	name := g.Name
	if most := validation.DNS1123LabelMaxLength - 1 - len(hash); len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	return name + "-" + hash
}

// hashOf returns a short hash of a value's JSON.
func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // strings, numbers and a pod template that came from JSON
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// podSets returns a pod set for each role that has ranks, in the order of the roles.
func podSets(g scheduler.Gang) []kueuev1beta2.PodSet {
	var sets []kueuev1beta2.PodSet
	for _, r := range g.Roles {
		if r.Replicas == 0 {
			continue
		}
		set := kueuev1beta2.PodSet{Name: podSetName(r), Count: r.Replicas}
		if r.MinAvailable < r.Replicas {
			least := r.MinAvailable
			set.MinCount = &least
		}
		if r.Template != nil {
			set.Template = quotaTemplate(r.Template)
			set.TopologyRequest = topologyRequest(topologyOf(g, r))
		}
		sets = append(sets, set)
	}
	return sets
}

// maxExecutionTime returns how long the job may be admitted over all attempts, in seconds, which Kueue
// enforces; nil means no limit.
func maxExecutionTime(g scheduler.Gang) *int32 {
	n, err := strconv.ParseInt(g.JobLabels[MaxExecTimeLabel], 10, 32)
	if err != nil || n <= 0 {
		return nil
	}
	seconds := int32(n)
	return &seconds
}

// quotaTemplate returns the part of a pod template that Kueue and its admission checks evaluate: requests,
// and what selects nodes and with them flavors. Images stay because the admission check "provisioning"
// creates PodTemplates from it, which the API server rejects without images. Claims stay because they tie a
// pod to a zone.
func quotaTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	spec := t.Spec.DeepCopy()
	kept := corev1.PodSpec{
		InitContainers:            quotaContainers(spec.InitContainers, requestsAnything),
		Containers:                quotaContainers(spec.Containers, nil),
		Resources:                 spec.Resources,
		ResourceClaims:            spec.ResourceClaims,
		RuntimeClassName:          spec.RuntimeClassName,
		Overhead:                  spec.Overhead,
		NodeSelector:              spec.NodeSelector,
		Affinity:                  spec.Affinity,
		Tolerations:               spec.Tolerations,
		TopologySpreadConstraints: spec.TopologySpreadConstraints,
		PriorityClassName:         spec.PriorityClassName,
		RestartPolicy:             spec.RestartPolicy,
	}
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			kept.Volumes = append(kept.Volumes, v)
		}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations)},
		Spec:       kept,
	}
}

// quotaContainers returns what decides quota of the containers that pass the filter; nil passes all.
func quotaContainers(all []corev1.Container, filter func(corev1.Container) bool) []corev1.Container {
	var kept []corev1.Container
	for _, c := range all {
		if filter == nil || filter(c) {
			kept = append(kept, corev1.Container{
				Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy,
			})
		}
	}
	return kept
}

// requestsAnything reports whether a container has requests. An init container without requests, such as the
// operator's own, never affects what a pod requests.
func requestsAnything(c corev1.Container) bool {
	return len(c.Resources.Requests)+len(c.Resources.Limits)+len(c.Resources.Claims) > 0
}
