package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

func jobOfFile(t *testing.T, name string) *v1alpha1.TrainingJob {
	t.Helper()
	job, err := readJob(filepath.Join("testdata/rehearse", name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// TestRehearsal compares the created jobs with golden files.
func TestRehearsal(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		options rehearsalOptions
	}{
		"bert": {"bert.yaml", rehearsalOptions{}},
		"bert-options": {"bert.yaml", rehearsalOptions{
			ranks: 1, exact: true, ways: []v1alpha1.RehearsalWay{"Kill", "Ask"}, timeout: 30 * time.Minute,
		}},
		"roles":            {"roles.yaml", rehearsalOptions{}},
		"roles-few":        {"roles.yaml", rehearsalOptions{ranks: 3}},
		"roles-the-master": {"roles.yaml", rehearsalOptions{ranks: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			of := jobOfFile(t, c.file)
			before := of.DeepCopy()
			job, err := Rehearsal(of, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, of); diff != "" {
				t.Errorf("it changes its argument:\n%s", diff)
			}
			text, err := yaml.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			goldenFile(t, "rehearse/"+name+".golden.yaml", string(text))
			again, err := Rehearsal(of, c.options)
			if err != nil || !reflect.DeepEqual(job, again) {
				t.Errorf("a second call returns another job, %v", err)
			}
		})
	}
}

// goldenFile compares text of any width with a file.
func goldenFile(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// TestRehearsalNames are valid for all pods, and differ where the jobs' names do.
func TestRehearsalNames(t *testing.T) {
	seen := map[string]string{}
	for _, of := range []string{
		"a", "bert", strings.Repeat("a", 44), strings.Repeat("a", 45), strings.Repeat("a", 52) + "1",
		strings.Repeat("a", 52) + "2", strings.Repeat("a-", 26) + "b",
	} {
		job := jobOfFile(t, "bert.yaml")
		job.Name = of
		rehearsal, err := Rehearsal(job, rehearsalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		name := rehearsal.Name
		if pod := spec.PodName(name, spec.RankRef{Role: v1alpha1.RoleWorker, Index: 3}); len(pod) > maxHostName {
			t.Errorf("%s: the pod %s has %d characters", of, pod, len(pod))
		}
		if strings.Contains(name, "--") || !strings.HasSuffix(name, rehearsalSuffix) || seen[name] != "" {
			t.Errorf("%s is rehearsed by %s, as is %q", of, name, seen[name])
		}
		seen[name] = of
		if rehearsal.Labels[v1alpha1.LabelRehearsalOf] != of {
			t.Errorf("labels %v", rehearsal.Labels)
		}
	}
}

// TestRehearsalRefused: each job that cannot be rehearsed gets an error that names the field.
func TestRehearsalRefused(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*v1alpha1.TrainingJob)
		ranks int32
		want  string
	}{
		"a rehearsal": {
			func(j *v1alpha1.TrainingJob) { j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{} }, 0, "spec.rehearsal",
		},
		"no checkpoints": {
			func(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint = nil }, 0, "set spec.checkpoint",
		},
		"checkpoints off": {
			func(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint.Enabled = new(false) }, 0, "set spec.checkpoint",
		},
		"elastic": {
			func(j *v1alpha1.TrainingJob) { j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 1} }, 0,
			"spec.runPolicy.restartScope",
		},
		"elsewhere":  {func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = "example.com/x" }, 0, "spec.managedBy"},
		"no name":    {func(j *v1alpha1.TrainingJob) { j.Name = "" }, 0, "metadata.name"},
		"more ranks": {func(*v1alpha1.TrainingJob) {}, 5, "give 1 to 4"},
		"only servers": {func(j *v1alpha1.TrainingJob) {
			j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
				v1alpha1.RoleMaster: {}, v1alpha1.RolePS: {Replicas: new(int32(2))}, v1alpha1.RoleWorker: {},
			}
		}, 2, "3 ranks are no Workers"},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobOfFile(t, "bert.yaml")
			c.edit(job)
			_, err := Rehearsal(job, rehearsalOptions{ranks: c.ranks})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	job := jobOfFile(t, "bert.yaml")
	job.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue
	if _, err := Rehearsal(job, rehearsalOptions{}); err != nil {
		t.Errorf("of MultiKueue: %v", err)
	}
}

// decision about a field of the spec.
type decision int

const (
	same    decision = iota // as in the job
	dropped                 // the zero value
	adapted                 // another value, which TestRehearsal shows
)

// fieldDecisions has every field of TrainingJobSpec. Fields of Kubernetes' types count as one.
var fieldDecisions = map[string]decision{
	"framework": same, "frameworkVersion": same, "image": same, "command": same, "args": same, "env": same,
	"envFrom": same, "replicas": same, "resources": same, "volumes": same, "volumeMounts": same,
	"nodeSelector": same, "tolerations": same, "affinity": same, "imagePullSecrets": same,
	"serviceAccountName": same, "securityContext": same, "replicaSpecs": same, "sharedMemory": same,
	"securityProfile": same, "networking": same, "successPolicy": same, "restartPolicy": same,
	"backoffLimit": same, "hyperparameters": same, "hyperparametersFrom": same, "mpi": same, "monitoring": same,
	"managedBy": same,
	// Elastic jobs are refused.
	"elasticPolicy": same,
	"rehearsal":     adapted,

	"checkpoint.enabled": same, "checkpoint.interval": adapted, "checkpoint.storage": same,
	"checkpoint.path": same, "checkpoint.uri": same, "checkpoint.credentialsSecretRef": same,
	"checkpoint.keepLast": same, "checkpoint.graceSeconds": same, "checkpoint.resumeFrom": dropped,
	"checkpoint.pvc.claimName": same, "checkpoint.pvc.size": same, "checkpoint.pvc.storageClassName": same,
	"checkpoint.pvc.accessMode": same, "checkpoint.pvc.retain": adapted,

	"runPolicy.suspend": dropped, "runPolicy.cleanPodPolicy": same, "runPolicy.ttlSecondsAfterFinished": dropped,
	"runPolicy.activeDeadlineSeconds": dropped, "runPolicy.expectedSeconds": dropped,
	"runPolicy.backoffLimit": same, "runPolicy.restartScope": same,
	"runPolicy.schedulingPolicy.scheduler": same, "runPolicy.schedulingPolicy.queue": same,
	"runPolicy.schedulingPolicy.minAvailable": same, "runPolicy.schedulingPolicy.minResources": same,
	"runPolicy.schedulingPolicy.priorityClass": same, "runPolicy.schedulingPolicy.topology": same,
	"runPolicy.schedulingPolicy.scheduleTimeoutSeconds": dropped, "runPolicy.schedulingPolicy.backfill": dropped,
	"runPolicy.liveness.mode": adapted, "runPolicy.liveness.hangAfterSeconds": same,
	"runPolicy.liveness.firstStepSeconds": same, "runPolicy.liveness.savingSeconds": same,
	"runPolicy.liveness.longPhaseSeconds": same, "runPolicy.liveness.slowPercent": same,
	"runPolicy.liveness.maxRestarts": same, "runPolicy.liveness.excludeNode": same,
}

// opened are the structs whose fields are decided one by one.
var opened = []string{
	"", "checkpoint", "checkpoint.pvc", "runPolicy", "runPolicy.schedulingPolicy", "runPolicy.liveness",
}

// TestRehearsalOfEveryField sets one field after another, so that a new field needs a decision.
func TestRehearsalOfEveryField(t *testing.T) {
	found := map[string]bool{}
	walkFields(reflect.TypeFor[v1alpha1.TrainingJobSpec](), "", nil, func(path string, index [][]int) {
		found[path] = true
		want, decided := fieldDecisions[path]
		if !decided {
			t.Errorf("spec.%s is new: decide in rehearsal.go what a rehearsal does with it, and add it here", path)
			return
		}
		if path == "elasticPolicy" {
			return
		}
		job := jobOfFile(t, "bert.yaml")
		job.Spec = v1alpha1.TrainingJobSpec{Checkpoint: &v1alpha1.CheckpointSpec{}}
		set(at(reflect.ValueOf(&job.Spec).Elem(), index), path)
		rehearsal, err := Rehearsal(job, rehearsalOptions{})
		if path == "rehearsal" {
			if err == nil {
				t.Error("a rehearsal can be rehearsed")
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		before := at(reflect.ValueOf(&job.Spec).Elem(), index)
		after := at(reflect.ValueOf(&rehearsal.Spec).Elem(), index)
		got := adapted
		switch {
		case after.IsZero():
			got = dropped
		case reflect.DeepEqual(before.Interface(), after.Interface()):
			got = same
		}
		if got != want {
			t.Errorf("spec.%s becomes %v: decision %d, want %d", path, after, got, want)
		}
	})
	for path := range fieldDecisions {
		if !found[path] {
			t.Errorf("there is no field spec.%s", path)
		}
	}
}

// walkFields calls visit with the path of each field and its index in each of the structs on the way.
func walkFields(in reflect.Type, prefix string, way [][]int, visit func(path string, index [][]int)) {
	for i := range in.NumField() {
		f := in.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := strings.TrimPrefix(prefix+"."+name, ".")
		index := append(append([][]int{}, way...), f.Index)
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if slices.Contains(opened, path) {
			walkFields(kind, path, index, visit)
			continue
		}
		visit(path, index)
	}
}

// at returns a field, and creates the structs on the way.
func at(v reflect.Value, index [][]int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByIndex(i)
	}
	return v
}

// fieldValues are those that no other type has.
var fieldValues = map[string]any{
	"checkpoint.interval": int32(3600), "checkpoint.storage": v1alpha1.StorageS3,
	"checkpoint.pvc.retain": v1alpha1.RetainClaim, "runPolicy.liveness.mode": v1alpha1.LivenessAct,
	"managedBy": v1alpha1.ManagedByMultiKueue, "runPolicy.restartScope": v1alpha1.ScopeGang,
	"checkpoint.enabled": true,
}

// set a field to a value that is not its zero value.
func set(field reflect.Value, path string) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if v, special := fieldValues[path]; special {
		field.Set(reflect.ValueOf(v))
		return
	}
	if q, is := field.Addr().Interface().(*resource.Quantity); is {
		*q = resource.MustParse("1Gi")
		return
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString("x")
	case reflect.Int32, reflect.Int64:
		field.SetInt(7)
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
		key := reflect.ValueOf("Worker").Convert(field.Type().Key())
		field.SetMapIndex(key, reflect.Zero(field.Type().Elem()))
	case reflect.Struct:
		for i := range field.NumField() {
			if f := field.Field(i); f.Kind() == reflect.String || f.Kind() == reflect.Map {
				set(f, "")
				return
			}
			if f := field.Field(i); f.Kind() == reflect.Pointer {
				f.Set(reflect.New(f.Type().Elem()))
				return
			}
		}
	}
}

// TestRehearsalKeepsKeys: labels and annotations of users and of the queue, and none that belong to the job.
func TestRehearsalKeepsKeys(t *testing.T) {
	job := jobOfFile(t, "bert.yaml")
	job.Annotations[v1alpha1.AnnotationMLflowRunID] = "1f"
	job.Annotations[v1alpha1.AnnotationMLflowExperiment] = "nlp"
	job.Labels["kueue.x-k8s.io/prebuilt-workload-name"] = "w"
	rehearsal, err := Rehearsal(job, rehearsalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{
		"team": "nlp", v1alpha1.LabelKueueQueue: "research", v1alpha1.LabelRehearsalOf: "bert",
	}
	annotations := map[string]string{
		"owner": "ada", v1alpha1.AnnotationMLflowExperiment: "nlp",
		v1alpha1.AnnotationRehearsalRevision: spec.Revision(job),
	}
	if diff := cmp.Diff(labels, rehearsal.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(annotations, rehearsal.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
