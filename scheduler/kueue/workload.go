package kueue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// workload of a gang. spec.active is left out: Kueue and admins switch it.
func workload(g scheduler.Gang) (*kueuev1beta2.Workload, error) {
	ref, value, err := priority(g)
	if err != nil {
		return nil, err
	}
	meta := g.ObjectMeta(WorkloadName(g))
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels[jobUIDLabel] = string(g.Owner.UID)
	meta.Annotations = kueuesAnnotations(g)
	// Without it a deleted Workload is gone at once, and its quota given to others while the pods still run.
	meta.Finalizers = []string{kueuev1beta2.ResourceInUseFinalizerName}
	return &kueuev1beta2.Workload{
		TypeMeta:   metav1.TypeMeta{APIVersion: workloadKind.GroupVersion().String(), Kind: workloadKind.Kind},
		ObjectMeta: meta,
		Spec: kueuev1beta2.WorkloadSpec{
			PodSets:                     podSets(g),
			QueueName:                   kueuev1beta2.LocalQueueName(g.Queue),
			PriorityClassRef:            ref,
			Priority:                    value,
			MaximumExecutionTimeSeconds: maxExecutionTime(g),
		},
	}, nil
}

// WorkloadName is the job's name, as much of it as there is room for, and a hash over what makes another Workload.
func WorkloadName(g scheduler.Gang) string {
	text, err := json.Marshal(struct {
		Owner   string
		Queue   string
		Class   classKey
		MaxTime *int32
		PodSets []kueuev1beta2.PodSet
	}{string(g.Owner.UID), g.Queue, classKeyOf(g), maxExecutionTime(g), podSets(g)})
	if err != nil { // strings, numbers and a pod template that came from JSON
		panic(err)
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:5])
	name := g.Name
	if most := validation.DNS1123LabelMaxLength - 1 - len(hash); len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	return name + "-" + hash
}

// podSets are the gang's roles that have ranks, in their order.
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
			set.TopologyRequest = topologyRequest(r.Template.Annotations)
		}
		sets = append(sets, set)
	}
	return sets
}

// maxExecutionTime is Kueue's own limit, in seconds over all attempts; nil: none.
func maxExecutionTime(g scheduler.Gang) *int32 {
	n, err := strconv.ParseInt(g.JobLabels[MaxExecTimeLabel], 10, 32)
	if err != nil || n <= 0 {
		return nil
	}
	seconds := int32(n)
	return &seconds
}

// quotaTemplate keeps of a pod template what Kueue and its admission checks judge: requests, and what chooses nodes and so
// flavours. Images stay, for the check "provisioning" makes PodTemplates of it, which the API server refuses without; claims
// stay, since they tie a pod to a zone.
func quotaTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	spec := t.Spec.DeepCopy()
	kept := corev1.PodSpec{
		InitContainers:            quotaContainers(spec.InitContainers, asksSomething),
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

// quotaContainers keeps those that pass; nil passes all.
func quotaContainers(all []corev1.Container, passes func(corev1.Container) bool) []corev1.Container {
	var kept []corev1.Container
	for _, c := range all {
		if passes == nil || passes(c) {
			kept = append(kept, corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy})
		}
	}
	return kept
}

// asksSomething: init containers that ask for nothing never decide what a pod requests, and the operator's own are such.
func asksSomething(c corev1.Container) bool {
	return len(c.Resources.Requests)+len(c.Resources.Limits)+len(c.Resources.Claims) > 0
}
