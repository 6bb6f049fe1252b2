package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// tfjobAdminDocument is what TFJob-admin's API takes and returns (its docs/README.md): the fields of a job,
// either at the top or in spec beside metadata. Its own examples spell some of them in two ways.
type tfjobAdminDocument struct {
	Metadata struct {
		UID            string `json:"uid"`
		ID             string `json:"id"`
		Name           string `json:"name"`
		CreationTime   string `json:"creationTime"`
		LastUpdateTime string `json:"lastUpdateTime"`
	} `json:"metadata"`
	Spec   *tfjobAdminSpec `json:"spec"`
	Status map[string]any  `json:"status"`
	Name   string          `json:"name"`
	tfjobAdminSpec
}

type tfjobAdminSpec struct {
	Description   string              `json:"description"`
	Partition     string              `json:"partition"`
	Runtime       string              `json:"runtime"`
	Workdir       string              `json:"workdir"`
	Workerdir     string              `json:"workerdir"`
	Bootfile      string              `json:"bootfile"`
	Args          words               `json:"args"`
	Environment   environment         `json:"environment"`
	Enviroment    environment         `json:"enviroment"`
	CheckpointDir string              `json:"checkpointDir"`
	EventDir      string              `json:"eventDir"`
	ModelDir      string              `json:"modelDir"`
	LogDir        string              `json:"logDir"`
	Replicas      []tfjobAdminReplica `json:"replicas"`
}

type tfjobAdminReplica struct {
	Type     string `json:"type"`
	Count    *count `json:"count"`
	Conut    *count `json:"conut"`
	Resource struct {
		CPU    *resource.Quantity `json:"cpu"`
		Memory *resource.Quantity `json:"memory"`
		GPU    *count             `json:"gpu"`
	} `json:"resource"`
}

// count is a number, or its text.
type count int32

func (n *count) UnmarshalJSON(data []byte) error {
	parsed, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 32)
	if err != nil || parsed < 0 {
		return errors.New("is not a number from 0: " + string(data))
	}
	*n = count(parsed)
	return nil
}

// words is a list, or a text in which spaces part them.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*w = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// environment is an object, or a text of NAME=value parted by spaces.
type environment map[string]string

func (e *environment) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return json.Unmarshal(data, (*map[string]string)(e))
	}
	*e = environment{}
	for _, pair := range strings.Fields(text) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return errors.New("is not a list of NAME=value: " + pair)
		}
		(*e)[name] = value
	}
	return nil
}

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

// tfjobAdmin converts the JSON of TFJob-admin.
func tfjobAdmin(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from := decode[tfjobAdminDocument](&c.report, c.tfjobAdminPlain(doc))
	if from == nil {
		return nil
	}
	at, s := field.NewPath("spec"), from.Spec
	if s == nil {
		at, s = nil, &from.tfjobAdminSpec
	} else if !reflect.ValueOf(from.tfjobAdminSpec).IsZero() {
		c.fail(at, "stands beside fields of the job: give them in spec, or all at the top")
		return nil
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: c.metadata(metav1.ObjectMeta{
		Name: cmp.Or(from.Metadata.Name, from.Name, from.Metadata.ID), Namespace: s.Partition,
	})}
	if s.Description != "" {
		job.Annotations = map[string]string{"kubernetes.io/description": s.Description}
	}
	m := from.Metadata
	if m.UID != "" || m.ID != "" || m.CreationTime != "" || m.LastUpdateTime != "" {
		c.warn(field.NewPath("metadata"), "uid, id and times are TFJob-admin's own: they are left out")
	}
	if len(from.Status) > 0 {
		c.warn(field.NewPath("status"), "is what the other system has observed: it is left out")
	}
	job.Spec.Framework = v1alpha1.FrameworkTensorFlow
	if s.Bootfile == "" {
		c.fail(child(at, "bootfile"), "is required: the script that is started")
		return nil
	}
	c.frameworkVersion(job, runtimeVersion(s.Runtime, "tensorflow"), child(at, "runtime"))
	template := c.tfjobAdminTemplate(s, at)
	claim := c.tfjobAdminStorage(job, s, &template, at)
	c.tfjobAdminCheckpoint(job, s, &template, claim, at)
	c.tfjobAdminRoles(job, s, template, at)
	// handlers/tfjob.go: the pods restart on failure. There is no limit.
	job.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanPodRunning
	job.Spec.RunPolicy.BackoffLimit = new(int32(defaultBackoffLimit))
	return job
}

// tfjobAdminPlain takes the list of replicas out of the object in which some of the API's answers have it.
func (c *conversion) tfjobAdminPlain(doc Document) Document {
	spec, is := doc.tree["spec"].(map[string]any)
	if !is {
		spec = doc.tree
	}
	object, is := spec["replicas"].(map[string]any)
	if !is {
		return doc
	}
	for _, key := range sortedKeys(object) {
		if key != "replicas" && key != "count" { // the number of elements
			c.warn(field.NewPath("replicas", key), "is not a field of TFJob-admin's: it is left out")
		}
	}
	plain := maps.Clone(spec)
	plain["replicas"] = object["replicas"]
	tree := plain
	if is := doc.tree["spec"] != nil; is {
		tree = maps.Clone(doc.tree)
		tree["spec"] = plain
	}
	raw, err := json.Marshal(tree)
	if err != nil { // it was JSON before
		return doc
	}
	doc.raw, doc.tree = raw, tree
	return doc
}

// tfjobAdminTemplate is what all roles have in common.
func (c *conversion) tfjobAdminTemplate(s *tfjobAdminSpec, at *field.Path) corev1.PodTemplateSpec {
	trainer := corev1.Container{
		Name: framework.TrainerContainer, WorkingDir: cmp.Or(s.Workdir, s.Workerdir),
		Command: []string{"python", s.Bootfile}, Args: s.Args,
	}
	addPort(&trainer, tensorflowPortName, tensorflowPort)
	for _, e := range []environment{s.Environment, s.Enviroment} {
		for _, name := range sortedKeys(e) {
			addEnv(&trainer, variable(name, e[name]))
		}
	}
	for _, dir := range []struct{ name, value string }{
		{"EVENT_DIR", s.EventDir}, {"MODEL_DIR", s.ModelDir}, {"LOG_DIR", s.LogDir},
	} {
		if dir.value != "" {
			addEnv(&trainer, variable(dir.name, dir.value))
		}
	}
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{trainer}}}
}

// tfjobAdminRoles makes a role of every type of replica.
func (c *conversion) tfjobAdminRoles(
	job *v1alpha1.TrainingJob, s *tfjobAdminSpec, template corev1.PodTemplateSpec, at *field.Path,
) {
	path, runtime := child(at, "replicas"), child(at, "runtime")
	roles := map[string]v1alpha1.Role{"worker": v1alpha1.RoleWorker, "ps": v1alpha1.RolePS}
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for i, r := range s.Replicas {
		at := path.Index(i)
		role, known := roles[strings.ToLower(cmp.Or(r.Type, "worker"))]
		if _, twice := job.Spec.ReplicaSpecs[role]; !known || twice {
			c.fail(at.Child("type"), "%q is not one worker or one ps", r.Type)
			continue
		}
		n := int32(*cmp.Or(r.Count, r.Conut, new(count(1))))
		if n == 0 {
			c.warn(at.Child("count"), "a role without ranks has no counterpart and is left out")
			continue
		}
		pods := *template.DeepCopy()
		trainer := &pods.Spec.Containers[0]
		var gpus int32
		if r.Resource.GPU != nil {
			gpus = int32(*r.Resource.GPU)
		}
		trainer.Resources = tfjobAdminResources(r.Resource.CPU, r.Resource.Memory, gpus)
		trainer.Image = c.tfjobAdminImage(s.Runtime, gpus > 0, runtime)
		job.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{
			Replicas: &n, RestartPolicy: v1alpha1.RestartOnFailure, Template: pods,
		}
	}
	if len(s.Replicas) == 0 {
		c.fail(path, "the job has no replicas: add one of type worker")
	}
}

// tfjobAdminResources are limits, and requests that equal them.
func tfjobAdminResources(cpu, memory *resource.Quantity, gpus int32) corev1.ResourceRequirements {
	limits := corev1.ResourceList{}
	if cpu != nil {
		limits[corev1.ResourceCPU] = *cpu
	}
	if memory != nil {
		limits[corev1.ResourceMemory] = *memory
	}
	r := corev1.ResourceRequirements{Limits: limits, Requests: limits.DeepCopy()}
	requestGPUs(&r, gpus)
	return r
}

// tfjobAdminImage finds the image of a runtime such as "Python_2.7+Tensorflow_1.2.1" among those that
// TensorFlow publishes: <version>, -gpu for GPUs and -py3 for Python 3, which versions from 2 on always have.
func (c *conversion) tfjobAdminImage(runtime string, gpus bool, at *field.Path) string {
	if c.options.Image != "" {
		return c.options.Image
	}
	version, python := runtimeVersion(runtime, "tensorflow"), runtimeVersion(runtime, "python")
	if version == "" {
		c.fail(at, "%q names no version of TensorFlow: give the image with --image", runtime)
		return ""
	}
	image := "tensorflow/tensorflow:" + version
	if gpus {
		image += "-gpu"
	}
	if strings.HasPrefix(python, "3") && strings.HasPrefix(version, "1.") {
		image += "-py3"
	}
	c.warn(at, "%q names no image: %s is written; give another with --image", runtime, image)
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

// tfjobAdminStorage mounts the claim that holds the job's directories at the directory that has them all, and
// returns the claim's name. There, it is the user's storage, which the document does not name.
func (c *conversion) tfjobAdminStorage(
	job *v1alpha1.TrainingJob, s *tfjobAdminSpec, template *corev1.PodTemplateSpec, at *field.Path,
) string {
	dirs := slices.DeleteFunc([]string{
		path.Dir(s.Bootfile), s.Workdir, s.Workerdir, s.CheckpointDir, s.EventDir, s.ModelDir, s.LogDir,
	}, func(dir string) bool { return !strings.HasPrefix(dir, "/") })
	if len(dirs) == 0 {
		c.warn(child(at, "bootfile"), "%q is no absolute path: the image must have it", s.Bootfile)
		return ""
	}
	root := path.Clean(dirs[0])
	for _, dir := range dirs[1:] {
		for root != "/" && root != path.Clean(dir) && !strings.HasPrefix(path.Clean(dir), root+"/") {
			root = path.Dir(root)
		}
	}
	if root == "/" {
		c.fail(child(at, "bootfile"), "the directories of the job have none in common at which their storage "+
			"could be mounted: %s", strings.Join(dirs, ", "))
		return ""
	}
	claim := c.options.Claim
	if claim == "" {
		claim = job.Name + "-files"
		c.companions = append(c.companions, filesClaim(claim, job.Namespace))
		c.warn(child(at, "workdir"), "the document does not name the user's storage: the new claim %s is mounted "+
			"at %s, and the files must be copied to it; or name the claim that has them with --claim", claim, root)
	}
	template.Spec.Volumes = []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	trainer := &template.Spec.Containers[0]
	trainer.VolumeMounts = []corev1.VolumeMount{{Name: "files", MountPath: root}}
	return claim
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

// tfjobAdminCheckpoint saves on the same claim, at checkpointDir unless that would hide other directories.
func (c *conversion) tfjobAdminCheckpoint(
	job *v1alpha1.TrainingJob, s *tfjobAdminSpec, template *corev1.PodTemplateSpec, claim string, at *field.Path,
) {
	if s.CheckpointDir == "" {
		return
	}
	here, dir := child(at, "checkpointDir"), path.Clean(s.CheckpointDir)
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StoragePVC, Path: dir}
	job.Spec.Checkpoint.PVC.ClaimName = claim
	for _, other := range []string{s.Bootfile, s.Workdir, s.Workerdir, s.EventDir, s.ModelDir, s.LogDir} {
		if other = path.Clean(other); other == dir || strings.HasPrefix(other, dir+"/") {
			job.Spec.Checkpoint.Path = mlV1CheckpointDir
			c.warn(here, "%s has other directories of the job: checkpoints are at %s", dir, mlV1CheckpointDir)
			break
		}
	}
	c.savesBelow(here)
}
