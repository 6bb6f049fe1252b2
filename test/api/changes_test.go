//go:build cluster

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

const suspendFirst = "suspend the job first (spec.runPolicy.suspend: true)"

// stored creates a job and puts it into a phase.
func (s server) stored(t *testing.T, job *v1alpha1.TrainingJob, phase v1alpha1.Phase) *v1alpha1.TrainingJob {
	t.Helper()
	job.Name, job.GenerateName = "", "job-"
	if err := s.client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return s.inPhase(t, job, phase)
}

func (s server) inPhase(t *testing.T, job *v1alpha1.TrainingJob, phase v1alpha1.Phase) *v1alpha1.TrainingJob {
	t.Helper()
	job.Status.Phase = phase
	if err := s.client.Status().Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return job
}

// change tries an update as a dry run.
func (s server) change(t *testing.T, job *v1alpha1.TrainingJob, edit func(*v1alpha1.TrainingJob)) error {
	t.Helper()
	job = job.DeepCopy()
	edit(job)
	return s.client.Update(t.Context(), job, client.DryRunAll)
}

func (s server) changesByPhase(t *testing.T) {
	image := func(j *v1alpha1.TrainingJob) { j.Spec.Image = "trainer:2" }
	replicas := func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = ptr.To[int32](4) }
	scheduler := scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Scheduler = v1alpha1.SchedulerNative })
	ttl := func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.TTLSecondsAfterFinished = ptr.To[int32](9) }
	framework := func(j *v1alpha1.TrainingJob) { j.Spec.Framework = v1alpha1.FrameworkCustom }
	// A client that sends an empty status must not bypass the rules: the old object's status counts.
	imageAndStatus := func(j *v1alpha1.TrainingJob) { image(j); j.Status = v1alpha1.TrainingJobStatus{} }
	const schedulerField = "spec.runPolicy.schedulingPolicy.scheduler"
	const finished = "has finished: create a new job"

	type rejection struct{ field, says string }
	idle := map[string]*rejection{"image": nil, "replicas": nil, "scheduler": nil, "ttl": nil, "framework": nil,
		"image and status": nil}
	queued := map[string]*rejection{"image": nil, "replicas": nil, "scheduler": {schedulerField, suspendFirst},
		"ttl": nil, "framework": nil}
	running := map[string]*rejection{
		"image": {"spec.image", suspendFirst}, "replicas": nil, "scheduler": {schedulerField,
			suspendFirst}, "ttl": nil,
		"framework": {"spec.framework", suspendFirst}, "image and status": {"spec.image", suspendFirst},
	}
	over := map[string]*rejection{
		"image": {"spec.image", finished}, "replicas": {"spec.replicas",
			finished}, "scheduler": {schedulerField, finished}, "ttl": nil,
		"framework": {"spec.framework", finished}, "image and status": {"spec.image", finished},
	}
	edits := map[string]func(*v1alpha1.TrainingJob){
		"image": image, "replicas": replicas, "scheduler": scheduler, "ttl": ttl, "framework": framework,
		"image and status": imageAndStatus,
	}
	for phase, want := range map[v1alpha1.Phase]map[string]*rejection{
		"": idle, v1alpha1.PhasePending: idle, v1alpha1.PhaseSuspended: idle, v1alpha1.PhaseQueued: queued,
		v1alpha1.PhaseStarting: running, v1alpha1.PhaseRunning: running, v1alpha1.PhaseDraining: running,
		v1alpha1.PhaseRestarting: running,
		v1alpha1.PhaseSucceeded:  over, v1alpha1.PhaseFailed: over,
	} {
		job := s.stored(t, simple(), phase)
		for name, r := range want {
			t.Run(fmt.Sprintf("%s/%s", phase, name), func(t *testing.T) {
				err := s.change(t, job, edits[name])
				switch {
				case r == nil && err != nil:
					t.Errorf("refused: %v", err)
				case r != nil:
					says := strings.Replace(r.says, suspendFirst, "is "+string(phase)+": "+suspendFirst, 1)
					wantRejection(t, err, says, r.field)
				}
			})
		}
	}
}

// everyField: each field of the spec is either listed here as changeable while the job runs, or rejected by
// name.
func (s server) everyField(t *testing.T) {
	changeable := []string{
		"replicas", "backoffLimit", "runPolicy.suspend", "runPolicy.cleanPodPolicy",
		"runPolicy.ttlSecondsAfterFinished",
		"runPolicy.activeDeadlineSeconds", "runPolicy.backoffLimit", "runPolicy.schedulingPolicy.minAvailable",
		"successPolicy", "checkpoint.interval", "checkpoint.keepLast", "runPolicy.liveness",
		"runPolicy.expectedSeconds", "runPolicy.schedulingPolicy.backfill",
	}
	job := s.stored(t, everything(), v1alpha1.PhaseRunning)
	other := everything()
	other.Spec.Checkpoint = &v1alpha1.CheckpointSpec{
		Storage: v1alpha1.StorageS3, URI: "s3://models/bert",
		CredentialsSecretRef: &v1alpha1.SecretReference{Name: "aws"},
	}
	other.Spec.BackoffLimit, other.Spec.RunPolicy.BackoffLimit = nil, ptr.To[int32](4)
	other = s.stored(t, other, v1alpha1.PhaseRunning)
	mpi := full()
	inMPI(func(m *v1alpha1.MPISpec) { m.Implementation = v1alpha1.MPICH })(mpi)
	mpi = s.stored(t, mpi, v1alpha1.PhaseRunning)
	for _, path := range specFields(t) {
		if path == "replicaSpecs" || path == "managedBy" || path == "rehearsal" {
			continue // roleChanges, managedByStays, rehearsalStays
		}
		t.Run(path, func(t *testing.T) {
			at := append([]string{"spec"}, strings.Split(path, ".")...)
			var u *unstructured.Unstructured
			for _, j := range []*v1alpha1.TrainingJob{job, other, mpi} {
				u = asUnstructured(t, j)
				if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, at...); found {
					break
				}
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, at...); !found {
				t.Fatalf("no job sets %s", path)
			}
			unstructured.RemoveNestedField(u.Object, at...)
			err := s.client.Update(t.Context(), u, client.DryRunAll)
			switch {
			case slices.Contains(changeable, path):
				if err != nil {
					t.Errorf("refused: %v", err)
				}
			case path == "framework": // required: the schema rejects it first; changesByPhase covers it
			default:
				wantRejection(t, err, path+" cannot change while the job is Running: "+suspendFirst, "spec."+path)
			}
		})
	}
}

// everything sets every field of the simple form that does not exclude another.
func everything() *v1alpha1.TrainingJob {
	j := simple()
	s := &j.Spec
	s.Args = []string{"--epochs=1"}
	s.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	s.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_",
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}
	s.Resources.Limits = gpus("1")
	s.Volumes = []corev1.Volume{{Name: "data"}}
	s.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	s.NodeSelector = map[string]string{"a": "b"}
	s.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	s.ServiceAccountName = "trainer"
	s.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1)}
	s.Hyperparameters = map[string]v1alpha1.HyperparameterValue{"lr": "0.1"}
	s.HyperparametersFrom = &v1alpha1.ConfigMapReference{Name: "defaults"}
	s.FrameworkVersion, s.SecurityProfile = "2.1", v1alpha1.SecurityNonRoot
	s.SharedMemory, s.SuccessPolicy = ptr.To(resource.MustParse("1Gi")), v1alpha1.SuccessLeader
	s.Networking = v1alpha1.NetworkingSpec{Backend: v1alpha1.BackendNCCL}
	s.Monitoring = &v1alpha1.MonitoringSpec{Port: ptr.To[int32](8000)}
	s.Checkpoint = &v1alpha1.CheckpointSpec{
		Enabled: ptr.To(true), Storage: v1alpha1.StoragePVC, Path: "/ckpt", Interval: ptr.To[int32](60),
		KeepLast: ptr.To[int32](2), ResumeFrom: "1200", GraceSeconds: ptr.To[int32](60),
		PVC: v1alpha1.CheckpointClaim{ClaimName: "models"},
	}
	s.RestartPolicy, s.BackoffLimit = v1alpha1.RestartOnFailure, ptr.To[int32](4)
	s.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 1}
	s.RunPolicy = v1alpha1.RunPolicy{
		Suspend: ptr.To(false), CleanPodPolicy: v1alpha1.CleanPodAll, TTLSecondsAfterFinished: ptr.To[int32](1),
		ActiveDeadlineSeconds: ptr.To[int64](1), ExpectedSeconds: ptr.To[int64](1),
		RestartScope: v1alpha1.ScopeRank,
		Liveness:     &v1alpha1.LivenessPolicy{Mode: v1alpha1.LivenessWarn},
		SchedulingPolicy: v1alpha1.SchedulingPolicy{
			Scheduler: v1alpha1.SchedulerVolcano, Queue: "research", MinAvailable: ptr.To[int32](1),
			MinResources:  gpus("1"),
			PriorityClass: "high", ScheduleTimeoutSeconds: ptr.To[int32](1),
			Topology: &v1alpha1.TopologyHint{Mode: v1alpha1.TopologyPack}, Backfill: v1alpha1.BackfillLent,
		},
	}
	return j
}

// specFields lists the fields of the spec from the CRD, with policies replaced by their fields.
func specFields(t *testing.T) []string {
	t.Helper()
	objects, err := apitest.Objects("../../deploy/crd")
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(objects[0].Object, "spec", "versions")
	schema, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema",
		"properties", "spec", "properties")
	var walk func(properties map[string]any, prefix string) []string
	walk = func(properties map[string]any, prefix string) []string {
		var paths []string
		for name, p := range properties {
			if name == "runPolicy" || name == "schedulingPolicy" || name == "checkpoint" {
				paths = append(paths, walk(p.(map[string]any)["properties"].(map[string]any), prefix+name+".")...)
				continue
			}
			paths = append(paths, prefix+name)
		}
		slices.Sort(paths)
		return paths
	}
	return walk(schema, "")
}

// managedByStays checks that spec.managedBy is immutable.
func (s server) managedByStays(t *testing.T) {
	to := func(value string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = value }
	}
	for _, phase := range []v1alpha1.Phase{"", v1alpha1.PhaseSuspended, v1alpha1.PhaseRunning,
		v1alpha1.PhaseSucceeded} {
		job := simple()
		to(v1alpha1.ManagedByMultiKueue)(job)
		job = s.stored(t, job, phase)
		const says = "managedBy cannot change: delete the job and create it again"
		wantRejection(t, s.change(t, job, to("")), says, "spec.managedBy")
		wantRejection(t, s.change(t, job, to("acme.io/runner")), says, "spec.managedBy")
		wantRejection(t, s.change(t, s.stored(t, simple(), phase), to("acme.io/runner")), says, "spec.managedBy")
	}
}

// rehearsalStays checks that spec.rehearsal is immutable.
func (s server) rehearsalStays(t *testing.T) {
	none := func(j *v1alpha1.TrainingJob) { j.Spec.Rehearsal = nil }
	exact := func(j *v1alpha1.TrainingJob) { j.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{Exact: true} }
	for _, phase := range []v1alpha1.Phase{"", v1alpha1.PhaseSuspended, v1alpha1.PhaseRunning,
		v1alpha1.PhaseSucceeded} {
		plain := simple()
		plain.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
		job := plain.DeepCopy()
		job.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{}
		job = s.stored(t, job, phase)
		const says = "rehearsal cannot change: create another job"
		wantRejection(t, s.change(t, job, none), says, "spec.rehearsal")
		wantRejection(t, s.change(t, job, exact), says, "spec.rehearsal")
		wantRejection(t, s.change(t, s.stored(t, plain, phase), exact), says, "spec.rehearsal")
	}
}

// takenBack: what a scheduler has dispatched and taken back again may be edited, whatever its last mirrored
// phase was.
func (s server) takenBack(t *testing.T) {
	image := func(j *v1alpha1.TrainingJob) { j.Spec.Image = "trainer:2" }
	job := simple()
	job.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue
	job = s.stored(t, job, v1alpha1.PhaseRunning)
	wantRejection(t, s.change(t, job, image), suspendFirst, "spec.image")
	job.Spec.RunPolicy.Suspend = ptr.To(true)
	if err := s.client.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := s.change(t, job, image); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func (s server) roleChanges(t *testing.T) {
	const field = "spec.replicaSpecs"
	scaled := editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) { r.Replicas = ptr.To[int32](3) })
	template := editRole(v1alpha1.RoleWorker,
		func(r *v1alpha1.ReplicaSpec) { r.Template.Spec.Containers[0].Image = "trainer:2" })
	policies := func(j *v1alpha1.TrainingJob) {
		j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{"Master": role(1, "Never"),
			"Worker": role(7, "Never")}
	}
	removed := func(j *v1alpha1.TrainingJob) { delete(j.Spec.ReplicaSpecs, v1alpha1.RoleMaster) }
	toSimple := func(j *v1alpha1.TrainingJob) { j.Spec = simple().Spec }
	for name, c := range map[string]struct {
		reason string
		phase  v1alpha1.Phase
		edit   func(*v1alpha1.TrainingJob)
		says   string // empty: accepted
	}{
		"replicas while running":   {"a resize", v1alpha1.PhaseRunning, scaled, ""},
		"template while running":   {"ranks would differ", v1alpha1.PhaseRunning, template, suspendFirst},
		"policies while running":   {"gang-defining", v1alpha1.PhaseRunning, policies, suspendFirst},
		"template while queued":    {"no rank exists", v1alpha1.PhaseQueued, template, ""},
		"template while suspended": {"no rank exists", v1alpha1.PhaseSuspended, template, ""},
		"replicas when finished":   {"nothing would happen", v1alpha1.PhaseSucceeded, scaled, "create a new job"},
		"a role less while new":    {"pods are named after roles", "", removed, "delete the job"},
		"a role less while running": {"pods are named after roles", v1alpha1.PhaseRunning, removed,
			"delete the job"},
		"the simple form, suspended": {"the Master would go", v1alpha1.PhaseSuspended, toSimple, "delete the job"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.change(t, s.stored(t, full(), c.phase), c.edit)
			if c.says != "" {
				wantRejection(t, err, c.says, field)
			} else if err != nil {
				t.Errorf("%s\nrefused: %v", c.reason, err)
			}
		})
	}
	toFull := roles(v1alpha1.FrameworkPyTorch, map[v1alpha1.Role]int32{"Worker": 8})
	form := func(j *v1alpha1.TrainingJob) {
		j.Spec = v1alpha1.TrainingJobSpec{}
		toFull(j)
	}
	t.Run("the other form of the same roles, suspended", func(t *testing.T) {
		if err := s.change(t, s.stored(t, simple(), v1alpha1.PhaseSuspended), form); err != nil {
			t.Errorf("refused, though every name stays: %v", err)
		}
	})
	t.Run("the other form of the same roles, running", func(t *testing.T) {
		wantRejection(t, s.change(t, s.stored(t, simple(), v1alpha1.PhaseRunning), form), suspendFirst, field,
			"spec.command")
	})
}

// suspendThenChange follows the advice of the rejections step by step.
func (s server) suspendThenChange(t *testing.T) {
	suspend := func(on bool) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = &on }
	}
	image := func(j *v1alpha1.TrainingJob) { j.Spec.Image = "trainer:2" }
	job := s.stored(t, simple(), v1alpha1.PhaseRunning)

	// Suspending and changing at once is rejected: the ranks of the running attempt must be ended by the spec
	// that made them.
	wantRejection(t, s.change(t, job, func(j *v1alpha1.TrainingJob) { suspend(true)(j); image(j) }),
		suspendFirst, "spec.image")
	suspend(true)(job)
	if err := s.client.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	s.inPhase(t, job, v1alpha1.PhaseDraining)
	wantRejection(t, s.change(t, job, image), "wait until its phase is Suspended", "spec.image")
	s.inPhase(t, job, v1alpha1.PhaseSuspended)
	image(job)
	suspend(false)(job)
	if err := s.client.Update(t.Context(), job); err != nil {
		t.Errorf("changing and resuming at once: %v", err)
	}
}

func (s server) scale(t *testing.T) {
	scaleTo := func(t *testing.T, job *v1alpha1.TrainingJob, n int32) error {
		t.Helper()
		body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		return s.client.SubResource("scale").Update(t.Context(), job, client.WithSubResourceBody(body))
	}
	running := s.stored(t, simple(), v1alpha1.PhaseRunning)
	if err := scaleTo(t, running, 4); err != nil {
		t.Errorf("scaling a running job: %v", err)
	}
	wantRejection(t, scaleTo(t, running, 0), "1", "spec.replicas")
	if err := scaleTo(t, s.stored(t, full(), v1alpha1.PhaseRunning), 4); err == nil {
		t.Error("the full form was scaled, though it has no one number of replicas")
	}
	wantRejection(t, scaleTo(t, s.stored(t, simple(), v1alpha1.PhaseFailed), 4), "create a new job",
		"spec.replicas")
}

func (s server) queueByLabel(t *testing.T) {
	job := simple()
	queues("", "research", "")(job)
	other := func(j *v1alpha1.TrainingJob) { j.Labels[v1alpha1.LabelKueueQueue] = "other" }
	job = s.stored(t, job, v1alpha1.PhaseRunning)
	wantRejection(t, s.change(t, job, other), suspendFirst, queueLabel)
	if err := s.change(t, job, func(j *v1alpha1.TrainingJob) { j.Labels["team"] = "a" }); err != nil {
		t.Errorf("another label of a running job: %v", err)
	}
	s.inPhase(t, job, v1alpha1.PhaseSuspended)
	if err := s.change(t, job, other); err != nil {
		t.Errorf("the label of a suspended job: %v", err)
	}
}

// kueueSettings: the labels and annotations that Kueue reads. Kueue's webhooks judge those of its own jobs
// alike (jobframework/validation.go), except that a class may be removed from a job that does not run: Kueue
// refuses that because its jobs keep their Workload, and a suspended TrainingJob has none.
func (s server) kueueSettings(t *testing.T) {
	const (
		classLabel = "kueue.x-k8s.io/priority-class"
		limitLabel = "kueue.x-k8s.io/max-exec-time-seconds"
		topology   = "kueue.x-k8s.io/podset-required-topology"
		class      = "metadata.labels." + classLabel
		limit      = "metadata.labels." + limitLabel
	)
	label := func(key, value string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { metav1.SetMetaDataLabel(&j.ObjectMeta, key, value) }
	}
	annotation := func(key, value string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { metav1.SetMetaDataAnnotation(&j.ObjectMeta, key, value) }
	}
	for name, tc := range map[string]struct {
		before, edit func(*v1alpha1.TrainingJob)
		field, says  string
	}{
		"a class is added": {nil, label(classLabel, "production"), class, "cannot be added"},
		"a class is removed": {label(classLabel, "production"), func(j *v1alpha1.TrainingJob) {
			j.Labels = nil
		}, class, "cannot be removed"},
		"another class":   {label(classLabel, "production"), label(classLabel, "experiment"), "", ""},
		"a limit":         {nil, label(limitLabel, "60"), limit, suspendFirst},
		"another limit":   {label(limitLabel, "60"), label(limitLabel, "90"), limit, suspendFirst},
		"a topology":      {nil, annotation(topology, "rack"), "metadata.annotations." + topology, suspendFirst},
		"another label":   {label(limitLabel, "60"), label("team", "a"), "", ""},
		"another comment": {annotation(topology, "rack"), annotation("team", "a"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := simple()
			if tc.before != nil {
				tc.before(job)
			}
			job = s.stored(t, job, v1alpha1.PhaseRunning)
			if err := s.change(t, job, tc.edit); tc.field != "" {
				wantRejection(t, err, tc.says, tc.field)
			} else if err != nil {
				t.Errorf("refused while it runs: %v", err)
			}
			for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseQueued, v1alpha1.PhaseSuspended} {
				if err := s.change(t, s.inPhase(t, job, phase), tc.edit); err != nil {
					t.Errorf("refused while %s: %v", phase, err)
				}
			}
			job.Status.Scheduling = &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerVolcano}
			if err := s.change(t, s.inPhase(t, job, v1alpha1.PhaseRunning), tc.edit); err != nil {
				t.Errorf("refused although Volcano runs it: %v", err)
			}
		})
	}
	for _, value := range []string{"0", "1h", "1.5", "10000000000"} {
		job := simple()
		label(limitLabel, value)(job)
		wantRejection(t, s.client.Create(t.Context(), job, client.DryRunAll), "a number of seconds above 0", limit)
	}
	job := simple()
	label(limitLabel, "3600")(job)
	if err := s.client.Create(t.Context(), job, client.DryRunAll); err != nil {
		t.Errorf("an hour: %v", err)
	}
}

// prebuiltWorkload: the ranks run on the quota of the Workload that the job named when they started.
func (s server) prebuiltWorkload(t *testing.T) {
	const key = "kueue.x-k8s.io/prebuilt-workload-name"
	named := func(name string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Annotations = map[string]string{key: name} }
	}
	byLabel := func(j *v1alpha1.TrainingJob) { j.Annotations, j.Labels = nil, map[string]string{key: "made"} }
	job := simple()
	named("made")(job)
	job = s.stored(t, job, v1alpha1.PhaseRunning)
	wantRejection(t, s.change(t, job, named("other")), suspendFirst, "metadata.annotations."+key)
	wantRejection(t, s.change(t, job, func(j *v1alpha1.TrainingJob) { j.Annotations = nil }), suspendFirst,
		"metadata.annotations."+key)
	if err := s.change(t, job, byLabel); err != nil {
		t.Errorf("the same name as a label: %v", err)
	}
	s.inPhase(t, job, v1alpha1.PhaseSuspended)
	if err := s.change(t, job, named("other")); err != nil {
		t.Errorf("another name while suspended: %v", err)
	}
}

// nothingIsDefaulted: fields of an "only one of" rule must be stored as they were written.
func (s server) nothingIsDefaulted(t *testing.T) {
	job := simple()
	job.Spec.Replicas = nil
	if err := s.client.Create(t.Context(), job, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if job.Spec.Replicas != nil || job.Spec.BackoffLimit != nil || job.Spec.RunPolicy.BackoffLimit != nil {
		t.Errorf("defaults were filled in: %+v", job.Spec)
	}
}
