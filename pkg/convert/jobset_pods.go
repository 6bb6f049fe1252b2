package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Prefixes of the labels and annotations that the controllers of Jobs and JobSets write on pods.
var jobMetadataKeys = []string{"batch.kubernetes.io/", "jobset.sigs.k8s.io/"}

// apiServerLabels are labels of a Job's pods that the API server writes, in their old form.
var apiServerLabels = []string{"controller-uid", "job-name"}

func isJobMetadata(key string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
	return slices.Contains(apiServerLabels, key) || slices.ContainsFunc(jobMetadataKeys, begins)
}

// withoutJobMetadata takes out what the API server and the controllers write on Jobs and their pods.
func withoutJobMetadata(metadata *metav1.ObjectMeta) {
	for _, m := range []map[string]string{metadata.Labels, metadata.Annotations} {
		for key := range m {
			if isJobMetadata(key) {
				delete(m, key)
			}
		}
	}
	if len(metadata.Labels) == 0 {
		metadata.Labels = nil
	}
	if len(metadata.Annotations) == 0 {
		metadata.Annotations = nil
	}
}

// rankIndex is the index of a rank within its role, which is a label of every pod.
func rankIndex() *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: "metadata.labels['" + v1alpha1.LabelKubeflowReplicaIndex + "']",
	}}
}

// completionIndex gives the trainer the variable that the Job controller sets.
func (s *jobSet) completionIndex(set podSet, main *corev1.Container) {
	const name = "JOB_COMPLETION_INDEX"
	switch {
	case !set.indexed:
	case set.jobs == 1:
		addEnv(main, corev1.EnvVar{Name: name, ValueFrom: rankIndex()})
	case set.pods == 1:
		addEnv(main, variable(name, "0"))
	default:
		s.warn(set.path, "the variable %s is left out, because each of the %d Jobs counts its own pods: read RANK",
			name, set.jobs)
	}
}

// podMetadata replaces variables that read what the controllers of Jobs and JobSets write on pods, and takes
// that out.
func (s *jobSet) podMetadata(set podSet, t *corev1.PodTemplateSpec, at *field.Path) {
	withoutJobMetadata(&t.ObjectMeta)
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", t.Spec.InitContainers}, {"containers", t.Spec.Containers}} {
		for i := range list.containers {
			env := list.containers[i].Env
			for j := range env {
				s.metadataVariable(set, &env[j], at.Child("spec", list.name).Index(i).Child("env").Index(j))
			}
		}
	}
	for i, v := range t.Spec.Volumes {
		if v.DownwardAPI == nil {
			continue
		}
		for _, item := range v.DownwardAPI.Items {
			if key := metadataKey(item.FieldRef); isJobMetadata(key) {
				s.fail(at.Child("spec", "volumes").Index(i), noMetadata, key, v1alpha1.LabelKubeflowReplicaIndex)
			}
		}
	}
}

const noMetadata = "reads %s, which pods of a TrainingJob do not have: read the label %s, the index within " +
	"the role"

var metadataField = regexp.MustCompile(`^metadata\.(?:labels|annotations)\['([^']+)'\]$`)

// metadataKey is the key of the label or annotation that a reference names; empty for other fields.
func metadataKey(ref *corev1.ObjectFieldSelector) string {
	if ref == nil {
		return ""
	}
	if found := metadataField.FindStringSubmatch(ref.FieldPath); found != nil {
		return found[1]
	}
	return ""
}

// metadataVariable replaces the value of one variable.
func (s *jobSet) metadataVariable(set podSet, e *corev1.EnvVar, at *field.Path) {
	if e.ValueFrom == nil {
		return
	}
	key := metadataKey(e.ValueFrom.FieldRef)
	if !isJobMetadata(key) {
		return
	}
	jobs := int32(0)
	for _, other := range slices.Concat(s.before, s.sets) {
		jobs += other.jobs
	}
	value, isIndex := "", false
	switch key {
	case batchv1.JobCompletionIndexAnnotation:
		isIndex, value = set.jobs == 1, onlyIf(set.pods == 1, "0")
	case "jobset.sigs.k8s.io/job-index":
		isIndex, value = set.pods == 1, onlyIf(set.jobs == 1, "0")
	case "jobset.sigs.k8s.io/job-global-index":
		isIndex = set.pods == 1 && jobs == set.jobs
	case "jobset.sigs.k8s.io/jobset-name":
		value = s.job.Name
	case "jobset.sigs.k8s.io/replicatedjob-name":
		value = set.Name
	case "jobset.sigs.k8s.io/replicatedjob-replicas":
		value = fmt.Sprint(set.jobs)
	case "jobset.sigs.k8s.io/global-replicas":
		value = fmt.Sprint(jobs)
	case "jobset.sigs.k8s.io/coordinator":
		value = s.leaderHost()
	case batchv1.JobNameLabel, "job-name":
		value = onlyIf(s.isJob, s.job.Name)
	}
	switch {
	case isIndex:
		e.ValueFrom = rankIndex()
	case value != "":
		*e = variable(e.Name, value)
	default:
		s.fail(at, noMetadata, key, v1alpha1.LabelKubeflowReplicaIndex)
	}
}

func onlyIf(condition bool, value string) string {
	if condition {
		return value
	}
	return ""
}

// leaderHost is the host name of rank 0.
func (s *jobSet) leaderHost() string {
	if set, leads := s.leaderSet(); leads {
		return spec.RankHost(s.job.Name, spec.RankRef{Role: set.role})
	}
	return spec.RankHost(s.job.Name, spec.RankRef{Role: v1alpha1.RoleWorker})
}

// hostNames replaces the host names of pods, SET-ROLE-JOB-POD.SUBDOMAIN or JOB-POD.SUBDOMAIN, in commands and
// variables. A part of one that is no host name is an error: the pod has another name here.
func (s *jobSet) hostNames(set podSet, t *corev1.PodTemplateSpec, subdomain string, at *field.Path) {
	if n := s.from.Network; n != nil {
		subdomain = n.Subdomain
	}
	if subdomain == "" && !s.isJob {
		subdomain = s.job.Name
	}
	if subdomain == "" { // the pods of a Job have no host names then
		return
	}
	names := s.podNames(subdomain)
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", t.Spec.InitContainers}, {"containers", t.Spec.Containers}} {
		for i := range list.containers {
			c, path := &list.containers[i], at.Child("spec", list.name).Index(i)
			for j := range c.Command {
				names.replace(&c.Command[j], path.Child("command").Index(j))
			}
			for j := range c.Args {
				names.replace(&c.Args[j], path.Child("args").Index(j))
			}
			for j := range c.Env {
				names.replace(&c.Env[j].Value, path.Child("env").Index(j).Child("value"))
			}
		}
	}
}

// leaderVariables are how a command names the host of rank 0.
var leaderVariables = map[v1alpha1.Framework]string{
	v1alpha1.FrameworkPyTorch: "$(MASTER_ADDR), or ", v1alpha1.FrameworkXGBoost: "$(MASTER_ADDR), or ",
	v1alpha1.FrameworkCustom: "$(TRAININGJOB_LEADER_HOST), or ",
}

// podNames finds the names of pods in texts.
type podNames struct {
	*jobSet
	whole, part *regexp.Regexp
}

func (s *jobSet) podNames(subdomain string) podNames {
	prefix := `(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(s.job.Name) + `-`
	domain := `\.` + regexp.QuoteMeta(subdomain) + `\b`
	if s.isJob {
		return podNames{s, regexp.MustCompile(prefix + `()()([0-9]{1,5})` + domain),
			regexp.MustCompile(prefix + `[0-9$%{]\S*` + domain)}
	}
	var roles []string
	for _, set := range s.sets {
		roles = append(roles, regexp.QuoteMeta(set.Name))
	}
	prefix += `(` + strings.Join(roles, "|") + `)-`
	return podNames{s, regexp.MustCompile(prefix + `([0-9]{1,5})-([0-9]{1,5})` + domain),
		regexp.MustCompile(prefix + `[0-9$%{]`)}
}

func (n podNames) replace(text *string, at *field.Path) {
	rest := *text
	for _, found := range n.whole.FindAllStringSubmatch(*text, -1) {
		host := n.hostOf(found)
		if host == "" {
			continue
		}
		name := strings.TrimPrefix(found[0], found[1])
		n.warn(at, "the host name %s becomes %s", name, host)
		rest = strings.ReplaceAll(rest, name, "")
		*text = strings.ReplaceAll(*text, found[0], found[1]+host)
	}
	if n.part.MatchString(rest) {
		n.fail(at, "contains the name of a pod of the other system, which does not exist here: write %sa host "+
			"name such as %s", leaderVariables[n.job.Spec.Framework], n.leaderHost())
	}
}

// hostOf is the host name here of a pod, by its role, Job and index; empty if the gang has no such pod.
func (n podNames) hostOf(found []string) string {
	set := n.sets[max(0, slices.IndexFunc(n.sets, func(s podSet) bool { return s.Name == found[2] }))]
	job, _ := strconv.Atoi(found[3]) // at most 5 digits, or none
	pod, _ := strconv.Atoi(found[4])
	index := int64(job)*int64(set.pods) + int64(pod)
	if job >= int(set.jobs) || pod >= int(set.pods) {
		return ""
	}
	return spec.RankHost(n.job.Name, spec.RankRef{Role: set.role, Index: int32(index)})
}
