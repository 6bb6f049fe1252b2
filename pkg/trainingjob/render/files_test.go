package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestFrameworkFiles: every container finds the files of its framework in one directory, by way of
// annotations.
func TestFrameworkFiles(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "trainer"}, {Name: "sidecar"}}
	addFrameworkFiles(pod, map[string]string{"hostfile": "bert-worker-0.bert slots=8\n", "a.json": "{}"})
	annotations := map[string]string{
		"mlplatform.example.com/file-hostfile": "bert-worker-0.bert slots=8\n",
		"mlplatform.example.com/file-a.json":   "{}",
	}
	if diff := cmp.Diff(annotations, pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	paths := map[string]string{}
	for _, item := range pod.Spec.Volumes[0].DownwardAPI.Items {
		paths[item.Path] = item.FieldRef.FieldPath
	}
	want := map[string]string{
		"hostfile": "metadata.annotations['mlplatform.example.com/file-hostfile']",
		"a.json":   "metadata.annotations['mlplatform.example.com/file-a.json']",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	for _, c := range pod.Spec.Containers {
		mount := corev1.VolumeMount{Name: "trainingjob-files", MountPath: "/trainingjob/files", ReadOnly: true}
		if diff := cmp.Diff([]corev1.VolumeMount{mount}, c.VolumeMounts); diff != "" {
			t.Errorf("mounts of %s (-want +got):\n%s", c.Name, diff)
		}
	}
	without := &corev1.Pod{}
	if addFrameworkFiles(without, nil); len(without.Spec.Volumes) > 0 {
		t.Error("a framework without files needs no volume")
	}
}
