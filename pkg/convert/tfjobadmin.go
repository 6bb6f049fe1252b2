package convert

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// isTFJobAdmin reports whether a document without apiVersion is one of TFJob-admin's.
func isTFJobAdmin(doc Document) bool {
	if doc.APIVersion != "" || doc.Kind != "" {
		return false
	}
	spec, is := doc.tree["spec"].(map[string]any)
	if !is {
		spec = doc.tree
	}
	return spec["bootfile"] != nil || spec["runtime"] != nil
}

// tfjobAdmin converts the JSON of TFJob-admin. The document names neither an image nor a claim: they are
// guessed, or the options name them.
func tfjobAdmin(c *conversion, doc Document) *v1alpha1.TrainingJob {
	request, problems := tfjobadmin.Read(doc.raw)
	if c.failAll(problems) {
		return nil
	}
	c.tfjobAdminLeftOut(request)
	from := request.Apply(tfjobadmin.Spec{})
	metadata := c.metadata(metav1.ObjectMeta{
		Name: cmp.Or(text(request.Name), text(request.ID)), Namespace: from.Partition,
	})
	from.Partition = metadata.Namespace
	root := c.tfjobAdminRoot(from, request.At)
	runtime := tfjobadmin.Runtime{
		Framework: v1alpha1.FrameworkTensorFlow, Command: []string{"python"},
		Image: c.tfjobAdminImage(from.Runtime, false), GPUImage: c.tfjobAdminImage(from.Runtime, true),
	}
	if runtime.Image == "" {
		c.fail(request.At("spec.runtime"), "%q names no version of TensorFlow: give the image with --image",
			from.Runtime)
	}
	setup := tfjobadmin.Setup{Runtime: runtime, Unmounted: "give an absolute path"}
	claim := cmp.Or(c.options.Claim, metadata.Name+"-files")
	if root != "" {
		setup.Mounts = []tfjobadmin.Mount{{Path: root, Claim: claim}}
	}
	job, problems := setup.Job(metadata.Name, from, request.At)
	if c.failAll(problems) || len(c.errors) > 0 {
		return nil
	}
	c.frameworkVersion(job, runtimeVersion(from.Runtime, "tensorflow"), request.At("spec.runtime"))
	c.tfjobAdminGuesses(job, from, request.At, root, claim)
	return job
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// failAll reports whether there are problems, and notes them.
func (c *conversion) failAll(problems tfjobadmin.Problems) bool {
	for _, p := range problems {
		at := (*field.Path)(nil)
		if p.Field != "" {
			at = field.NewPath(p.Field)
		}
		c.fail(at, "%s: %s", p.Detail, p.Remedy)
	}
	return len(problems) > 0
}

// tfjobAdminLeftOut warns about fields that a TrainingJob does not have.
func (c *conversion) tfjobAdminLeftOut(request *tfjobadmin.Request) {
	own := request.User != nil || request.ID != nil
	status := false
	for _, at := range request.ReadOnly {
		status = status || at.String() == "status"
		own = own || at.String() != "status"
	}
	if own {
		c.warn(field.NewPath("metadata"), "uid, id and times are TFJob-admin's own: they are left out")
	}
	if status {
		c.warn(field.NewPath("status"), "is what the other system has observed: it is left out")
	}
	for _, at := range request.Unknown {
		c.warn(at, "is no field of this kind of job: it is left out")
	}
}

// tfjobAdminGuesses warns of what the document does not say, and writes the claim that it needs.
func (c *conversion) tfjobAdminGuesses(
	job *v1alpha1.TrainingJob, from tfjobadmin.Spec, at tfjobadmin.Path, root, claim string,
) {
	if root != "" && c.options.Claim == "" {
		c.companions = append(c.companions, filesClaim(claim, job.Namespace))
		c.warn(at("spec.workdir"), "the document does not name the user's storage: the new claim %s is mounted "+
			"at %s, and the files must be copied to it; or name the claim that has them with --claim", claim, root)
	}
	if job.Spec.Checkpoint != nil {
		if elsewhere := job.Spec.Checkpoint.Path; elsewhere != path.Clean(from.CheckpointDir) {
			c.warn(at("spec.checkpointDir"), "%s has other directories of the job: checkpoints are at %s",
				from.CheckpointDir, elsewhere)
		}
		c.savesBelow(at("spec.checkpointDir"))
	}
	for _, role := range spec.Roles(job) {
		if image := role.Template.Spec.Containers[0].Image; image != c.options.Image {
			c.warn(at("spec.runtime"), "%q names no image: %s is written; give another with --image",
				from.Runtime, image)
		}
	}
	for i, replica := range from.Replicas {
		if replica.Count == 0 {
			c.warn(at("spec.replicas").Index(i).Child("count"),
				"a role without ranks has no counterpart and is left out")
		}
	}
}

// tfjobAdminRoot is the directory that has all those of a job: its storage is mounted there. It is empty
// where the job has no absolute path.
func (c *conversion) tfjobAdminRoot(from tfjobadmin.Spec, at tfjobadmin.Path) string {
	dirs := slices.DeleteFunc([]string{
		path.Dir(from.Bootfile), from.Workdir, from.CheckpointDir, from.EventDir, from.ModelDir, from.LogDir,
	}, func(dir string) bool { return !strings.HasPrefix(dir, "/") })
	if len(dirs) == 0 {
		if from.Bootfile != "" {
			c.warn(at("spec.bootfile"), "%q is no absolute path: the image must have it", from.Bootfile)
		}
		return ""
	}
	root := path.Clean(dirs[0])
	for _, dir := range dirs[1:] {
		for root != "/" && root != path.Clean(dir) && !strings.HasPrefix(path.Clean(dir), root+"/") {
			root = path.Dir(root)
		}
	}
	if root == "/" {
		c.fail(at("spec.bootfile"), "the directories of the job have none in common at which their storage "+
			"could be mounted: %s", strings.Join(dirs, ", "))
		return ""
	}
	return root
}

// tfjobAdminImage finds the image of a runtime such as "Python_2.7+Tensorflow_1.2.1" among those that
// TensorFlow publishes: <version>, -gpu for GPUs and -py3 for Python 3, which versions from 2 on always have.
func (c *conversion) tfjobAdminImage(runtime string, gpus bool) string {
	if c.options.Image != "" {
		return c.options.Image
	}
	version, python := runtimeVersion(runtime, "tensorflow"), runtimeVersion(runtime, "python")
	if version == "" {
		return ""
	}
	image := "tensorflow/tensorflow:" + version
	if gpus {
		image += "-gpu"
	}
	if strings.HasPrefix(python, "3") && strings.HasPrefix(version, "1.") {
		image += "-py3"
	}
	return image
}

// runtimeVersion is the number behind a name and a separator, such as 1.2.1 in "Tensorflow 1.2.1".
func runtimeVersion(runtime, name string) string {
	_, rest, found := strings.Cut(strings.ToLower(runtime), name)
	if !found {
		return ""
	}
	rest = strings.TrimLeft(rest, " _-:=")
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		rest = rest[:end]
	}
	return strings.Trim(rest, ".")
}

func filesClaim(name, namespace string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			},
		},
	}
}
