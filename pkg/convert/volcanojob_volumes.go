package convert

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// volumes are mounted in every container of every task. Those that describe a claim have a companion.
func (v *volcano) volumes(path *field.Path) {
	for i, volume := range v.from.Volumes {
		at := path.Index(i)
		claim := v.claim(volume, i, at)
		switch {
		case claim == "":
			continue
		case volume.MountPath == "":
			v.fail(at.Child("mountPath"), "is empty: give the path of the volume in the containers")
			continue
		case v.mounted(volume.MountPath):
			v.fail(at.Child("mountPath"), "%s is mounted already: give another path", volume.MountPath)
			continue
		}
		name := fmt.Sprintf("volume-%d", i)
		for _, t := range v.templates {
			t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}})
			for j := range t.Spec.Containers {
				c := &t.Spec.Containers[j]
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: volume.MountPath})
			}
		}
	}
}

// madeClaim is the end of the name of a claim that Volcano's controller has made, and written into the Job
// (pkg/controllers/job/helpers, GenPVCName, Volcano 1.14.1).
var madeClaim = regexp.MustCompile(`^-pvc-[0-9a-z]{12}$`)

// claim returns the name of a volume's claim, and empty if there is none. Volcano's webhook refuses volumes
// without a claim, and those that name one and describe one (webhooks/admission/jobs/validate/util.go,
// validateIO): a document that has both comes from a cluster, or was never applied.
func (v *volcano) claim(volume volcanobatch.VolumeSpec, index int, at *field.Path) string {
	claim := volume.VolumeClaimName
	switch {
	case claim == "" && volume.VolumeClaim == nil:
		v.fail(at, "names no claim and describes none: give volumeClaimName or volumeClaim")
	case claim == "":
		claim = fmt.Sprintf("%s-volume-%d", v.job.Name, index)
		v.companions = append(v.companions, &corev1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Name: claim, Namespace: v.job.Namespace},
			Spec:       *volume.VolumeClaim,
		})
		v.warn(at.Child("volumeClaim"), "is the claim %s, which outlives the job: Volcano would delete its own "+
			"with the job", claim)
	case volume.VolumeClaim == nil:
	case len(claim) > len(v.job.Name) && claim[:len(v.job.Name)] == v.job.Name &&
		madeClaim.MatchString(claim[len(v.job.Name):]):
		v.warn(at.Child("volumeClaimName"), "Kubernetes deletes the claim %s with the Volcano Job: remove the "+
			"claim's ownerReferences first, or copy its data", claim)
	default:
		v.warn(at.Child("volumeClaim"), "the claim %s must exist already: volumeClaim is left out", claim)
	}
	return claim
}

// mounted reports whether a container has a mount at the path.
func (v *volcano) mounted(path string) bool {
	for _, t := range v.templates {
		for _, c := range t.Spec.Containers {
			if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path }) {
				return true
			}
		}
	}
	return false
}
