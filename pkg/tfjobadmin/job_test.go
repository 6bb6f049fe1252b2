package tfjobadmin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

func changed(change func(*tfjobadmin.Spec)) tfjobadmin.Spec {
	s := mnist()
	change(&s)
	return s
}

// TestJobRefuses: what a job cannot be made of names the field and what may be given instead.
func TestJobRefuses(t *testing.T) {
	cases := map[string]struct {
		reason         string
		from           tfjobadmin.Spec
		field          string
		detail, remedy string
	}{
		"outside": {
			"a directory on no claim", changed(func(s *tfjobadmin.Spec) { s.EventDir = "/home/admin" }),
			"spec.eventDir", `"/home/admin" lies on no claim of the partition`,
			"give a path below /clever or /scratch",
		},
		"beside": {
			"the name of a mount is no prefix", changed(func(s *tfjobadmin.Spec) { s.LogDir = "/cleverer" }),
			"spec.logDir", `"/cleverer" lies on no claim`, "/clever",
		},
		"traversal": {
			"it leads out of the claim", changed(func(s *tfjobadmin.Spec) { s.ModelDir = "/clever/../etc" }),
			"spec.modelDir", "has an element ..", "without it",
		},
		"traversal by a relative script": {
			"of the working directory", changed(func(s *tfjobadmin.Spec) { s.Bootfile = "../x.py" }),
			"spec.bootfile", "has an element ..", "without it",
		},
		"relative": {
			"to nothing", changed(func(s *tfjobadmin.Spec) { s.Workdir = "jobs" }),
			"spec.workdir", "is no absolute path", "/clever or /clever/data or /opt/jobs or /scratch",
		},
		"read-only": {
			"checkpoints are written", changed(func(s *tfjobadmin.Spec) { s.CheckpointDir = "/clever/data/c" }),
			"spec.checkpointDir", "lies below /clever/data, which is read-only", "/clever or /scratch",
		},
		"script of an image": {
			"that the runtime does not name", changed(func(s *tfjobadmin.Spec) { s.Bootfile = "/usr/bin/x" }),
			"spec.bootfile", "lies on no claim", "/opt/jobs",
		},
		"no script": {
			"it is what runs", changed(func(s *tfjobadmin.Spec) { s.Bootfile = "" }),
			"spec.bootfile", "is missing", "give the script",
		},
		"no ranks": {
			"a job has some", changed(func(s *tfjobadmin.Spec) { s.Replicas[0].Count = 0 }),
			"spec.replicas", "has no ranks", "worker",
		},
		"a directory's variable": {
			"it has a field", changed(func(s *tfjobadmin.Spec) { s.Environment["EVENT_DIR"] = "/x" }),
			"spec.enviroment", "has EVENT_DIR", "give eventDir instead",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, problems := clever().Job("mnist", c.from, tfjobadmin.Canonical)
			if len(problems) != 1 {
				t.Fatalf("%s: want one problem, got %v", c.reason, problems)
			}
			p := problems[0]
			if p.Field != c.field || !strings.Contains(p.Detail, c.detail) || !strings.Contains(p.Remedy, c.remedy) {
				t.Errorf("%s: got %+v", c.reason, p)
			}
		})
	}
	t.Run("no mounts", func(t *testing.T) {
		setup := clever()
		setup.Mounts = nil
		_, problems := setup.Job("mnist", changed(func(s *tfjobadmin.Spec) { s.LogDir = "" }), tfjobadmin.Canonical)
		if len(problems) != 5 || problems[2].Remedy != "ask an admin" {
			t.Errorf("got %v", problems)
		}
	})
}

// TestMounts: a job gets the mounts that its directories lie on, and no others; the innermost counts.
func TestMounts(t *testing.T) {
	from := changed(func(s *tfjobadmin.Spec) { s.ModelDir, s.LogDir = "/clever/data/models", "/scratch/logs/" })
	job, problems := clever().Job("mnist", from, tfjobadmin.Canonical)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	pod := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec
	wantMounts := []corev1.VolumeMount{
		{Name: "files", MountPath: "/clever", SubPath: "clever"},
		{Name: "files-2", MountPath: "/clever/data", ReadOnly: true},
		{Name: "files", MountPath: "/scratch", SubPath: "scratch"},
	}
	if diff := cmp.Diff(wantMounts, pod.Containers[0].VolumeMounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if n := len(pod.Volumes); n != 2 {
		t.Errorf("%d volumes: one for each claim", n)
	}
	job, problems = clever().Job("mnist", tfjobadmin.Spec{
		Bootfile: "train.py", Replicas: mnist().Replicas,
	}, tfjobadmin.Canonical)
	pod = job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec
	if len(problems) > 0 || len(pod.Volumes) > 0 {
		t.Errorf("a job without directories has volumes %v, problems %v", pod.Volumes, problems)
	}
}

// TestCheckpointPath: the job's own directory of checkpoints hides none of its others.
func TestCheckpointPath(t *testing.T) {
	cases := map[string]struct{ reason, dir, want string }{
		"own":          {"where the document says", "/clever/admin/checkpoints", "/clever/admin/checkpoints"},
		"slash":        {"one spelling", "/clever/admin/checkpoints/", "/clever/admin/checkpoints"},
		"has others":   {"as in the document's examples", "/clever/admin", "/checkpoints"},
		"is a mount":   {"two things at one path", "/scratch", "/checkpoints"},
		"has a mount":  {"it would be hidden", "/clever", "/checkpoints"},
		"is the logs'": {"it would be hidden", "/clever/admin/logs", "/checkpoints"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			from := changed(func(s *tfjobadmin.Spec) { s.CheckpointDir = c.dir })
			job, problems := clever().Job("mnist", from, tfjobadmin.Canonical)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			tfjobadmin.Annotate(job, from, tensorflow())
			if got := job.Spec.Checkpoint.Path; got != c.want {
				t.Errorf("%s: mounted at %s, want %s", c.reason, got, c.want)
			}
			_, noted := job.Annotations[tfjobadmin.AnnotationCheckpointDir]
			if noted != (c.want == "/checkpoints") {
				t.Errorf("%s: annotations %v", c.reason, job.Annotations)
			}
		})
	}
}

// TestMergeKeepsTheRest: what a document changes is changed, and what others have added stays.
func TestMergeKeepsTheRest(t *testing.T) {
	setup := clever()
	before := changed(func(s *tfjobadmin.Spec) {
		s.Replicas = append(s.Replicas, tfjobadmin.Replica{Type: tfjobadmin.TypePS, Count: 1})
	})
	make := func(from tfjobadmin.Spec) *v1alpha1.TrainingJob {
		job, problems := setup.Job("mnist", from, tfjobadmin.Canonical)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		tfjobadmin.Annotate(job, from, setup.Runtime)
		return job
	}
	job := make(before)
	worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	pod := &worker.Template.Spec
	pod.NodeSelector = map[string]string{"disk": "ssd"}
	pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "s"})
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "ADDED", Value: "1"})
	pod.Containers[0].Image = "replaced:1"
	job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
	job.Spec.Checkpoint.Interval = new(int32(60))
	job.Annotations["added"] = "1"

	after := before
	after.Description, after.Args, after.LogDir = "", []string{"-x"}, ""
	after.Environment = tfjobadmin.Environment{"EPOCHS": "4"}
	after.CheckpointDir = "/scratch/c"
	after.Replicas = []tfjobadmin.Replica{{Type: tfjobadmin.TypeWorker, Count: 3, Resource: tfjobadmin.Resource{
		CPU: quantity("2"), Memory: quantity("2Gi"), GPU: 1,
	}}}
	want := job.DeepCopy()
	delete(want.Spec.ReplicaSpecs, v1alpha1.RolePS)
	delete(want.Annotations, tfjobadmin.AnnotationDescription)
	want.Spec.Checkpoint.Path = "/scratch/c"
	role := want.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	role.Replicas = new(int32(3))
	trainer := &role.Template.Spec.Containers[0]
	trainer.Args = []string{"-x"}
	trainer.Env = []corev1.EnvVar{
		{Name: "EPOCHS", Value: "4"}, {Name: "EVENT_DIR", Value: "/clever/admin/events"},
		{Name: "MODEL_DIR", Value: "/clever/admin/models"}, {Name: "ADDED", Value: "1"},
	}
	trainer.VolumeMounts = append(trainer.VolumeMounts,
		corev1.VolumeMount{Name: "files", MountPath: "/scratch", SubPath: "scratch"})
	trainer.Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
	trainer.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	want.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role

	got, err := tfjobadmin.Merge(job, make(before), make(after))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	same, err := tfjobadmin.Merge(job, make(before), make(before))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job, same); diff != "" {
		t.Errorf("nothing is changed (-want +got):\n%s", diff)
	}
}
