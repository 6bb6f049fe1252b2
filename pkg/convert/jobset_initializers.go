package convert

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ranks of the gang.
func (s *jobSet) ranks() int64 {
	var n int64
	for _, set := range s.sets {
		n += int64(set.ranks())
	}
	return n
}

// initialize keeps the sets that end before the gang starts: of one rank, they are its init containers. More
// ranks start when the user resumes the job, after Jobs that are printed with it.
func (s *jobSet) initialize() {
	if len(s.before) == 0 {
		return
	}
	for i := range s.before {
		set := &s.before[i]
		s.podMetadata(*set, &set.Template.Spec.Template, set.path.Child("template"))
	}
	needsPods := func(set podSet) bool {
		return set.ranks() != 1 || !onlyContainers(set.Template.Spec.Template.Spec)
	}
	if s.ranks() == 1 && !slices.ContainsFunc(s.before, needsPods) {
		s.initContainers()
		return
	}
	s.initializerJobs()
}

// onlyContainers reports whether a pod consists of containers and their volumes.
func onlyContainers(pod corev1.PodSpec) bool {
	pod.Containers, pod.Volumes, pod.RestartPolicy = nil, nil, ""
	return reflect.ValueOf(pod).IsZero()
}

// initContainers moves the containers into the pod of the only rank.
func (s *jobSet) initContainers() {
	pod := &s.sets[0].Template.Spec.Template.Spec
	var containers []corev1.Container
	for _, set := range s.before {
		from := set.Template.Spec.Template.Spec
		containers = append(containers, from.Containers...)
		for _, v := range from.Volumes {
			same := func(own corev1.Volume) bool { return own.Name == v.Name }
			if i := slices.IndexFunc(pod.Volumes, same); i < 0 {
				pod.Volumes = append(pod.Volumes, v)
			} else if !reflect.DeepEqual(pod.Volumes[i], v) {
				s.fail(set.path.Child("template", "spec", "volumes"), "the volume %s differs from the one of the "+
					"trainer, whose pod it joins: rename one", v.Name)
			}
		}
		s.warn(set.path, "%s is an init container of the only rank, which runs it again after a restart", set.Name)
	}
	pod.InitContainers = append(containers, pod.InitContainers...)
	s.before = nil
}

// initializerJobs writes a Job for each set, and suspends the TrainingJob.
func (s *jobSet) initializerJobs() {
	var wait []string
	for _, set := range s.before {
		if set.jobs != 1 || dependsOnAny(set, s.before) {
			s.fail(set.path, "%s runs as several Jobs, or after another one, before the ranks start: run it "+
				"yourself, and remove it from the input", set.Name)
			continue
		}
		job := set.Template.Spec
		template := *job.Template.DeepCopy()
		template.Spec.RestartPolicy = cmp.Or(template.Spec.RestartPolicy, corev1.RestartPolicyOnFailure)
		name := s.job.Name + "-" + set.Name
		to := batchv1.JobSpec{BackoffLimit: job.BackoffLimit, Template: template}
		if set.pods > 1 {
			to.CompletionMode = new(batchv1.IndexedCompletion)
			to.Parallelism, to.Completions = new(set.pods), new(set.pods)
		}
		s.companions = append(s.companions, &batchv1.Job{
			TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.job.Namespace},
			Spec:       to,
		})
		wait = append(wait, "job/"+name)
	}
	if len(wait) == 0 {
		return
	}
	s.job.Spec.RunPolicy.Suspend = new(true)
	in := ""
	if s.job.Namespace != "" {
		in = " -n " + s.job.Namespace
	}
	s.warn(s.path, "the ranks start after %s, so the job is suspended: after kubectl apply, run "+
		"`kubectl wait%s --for=condition=Complete --timeout=24h %s` and then `kubectl patch%s tj %s --type=merge "+
		`-p '{"spec":{"runPolicy":{"suspend":false}}}'`+"`", joined(wait), in, strings.Join(wait, " "), in,
		s.job.Name)
}

func joined(names []string) string { return strings.Join(names, " and ") }

func dependsOnAny(set podSet, others []podSet) bool {
	return slices.ContainsFunc(set.DependsOn, func(on dependsOn) bool {
		return slices.ContainsFunc(others, func(other podSet) bool { return other.Name == on.Name })
	})
}

// claims writes the claims that the JobSet's pods share, and their volumes. Their names are those of
// pkg/controllers/volume_claim_policy.go (JobSet v0.12.0).
func (s *jobSet) claims() {
	for i, policy := range s.from.VolumeClaimPolicies {
		path := s.path.Child("volumeClaimPolicies").Index(i)
		retains := policy.RetentionPolicy != nil && policy.RetentionPolicy.WhenDeleted != nil &&
			*policy.RetentionPolicy.WhenDeleted == "Retain"
		for j, template := range policy.Templates {
			s.claim(template, retains, path.Child("templates").Index(j))
		}
	}
}

func (s *jobSet) claim(from corev1.PersistentVolumeClaim, retains bool, path *field.Path) {
	name := fmt.Sprintf("%s-%s", from.Name, s.job.Name)
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.job.Namespace, Labels: from.Labels, Annotations: from.Annotations,
		},
		Spec: from.Spec,
	}
	if s.ranks() > 1 && !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) {
		s.warn(path.Child("spec", "accessModes"), "ReadWriteMany is written, because several ranks mount the "+
			"claim: set a storageClassName that has it")
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	if !retains {
		s.warn(path, "is the claim %s, which outlives the job: JobSet deletes its own with the JobSet", name)
	}
	s.companions = append([]runtime.Object{claim}, s.companions...)
	volume := corev1.Volume{Name: from.Name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}
	for i := range s.sets {
		addClaim(&s.sets[i].Template.Spec.Template.Spec, volume)
	}
	for _, companion := range s.companions {
		if job, is := companion.(*batchv1.Job); is {
			addClaim(&job.Spec.Template.Spec, volume)
		}
	}
}

// addClaim adds the volume of a claim to a pod that mounts it.
func addClaim(pod *corev1.PodSpec, volume corev1.Volume) {
	has := func(v corev1.Volume) bool { return v.Name == volume.Name }
	mounts := func(m corev1.VolumeMount) bool { return m.Name == volume.Name }
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if slices.ContainsFunc(c.VolumeMounts, mounts) && !slices.ContainsFunc(pod.Volumes, has) {
			pod.Volumes = append(pod.Volumes, volume)
		}
	}
}

// exclusive reads the annotations that keep each Job in a domain of its own.
func (s *jobSet) exclusive() {
	path := field.NewPath("metadata", "annotations").Key(exclusiveTopology)
	key := s.job.Annotations[exclusiveTopology]
	delete(s.job.Annotations, exclusiveTopology)
	if len(s.job.Annotations) == 0 {
		s.job.Annotations = nil
	}
	jobs := int32(0)
	for i := range s.sets {
		set := &s.sets[i]
		jobs += set.jobs
		if own := set.Template.Annotations[exclusiveTopology]; own != "" && key == "" {
			key, path = own, s.path.Child("replicatedJobs").Key(set.Name).Child("template", "metadata", "annotations")
		}
	}
	switch {
	case key == "":
	case jobs == 1:
		s.job.Spec.RunPolicy.SchedulingPolicy.Topology = within(key)
		s.warn(path, "the domain is not exclusive: pods of other jobs can run in the same %s", key)
	default:
		s.warn(path, "one %s for each of the %d Jobs "+noCounterpart, key, jobs)
	}
}
