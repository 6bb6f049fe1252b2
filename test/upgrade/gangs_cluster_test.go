//go:build cluster

package upgrade

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// gang is one kind of gang that an upgrade meets.
type gang struct {
	name   string
	copies int32 // in the long form; the short form has one of each
	pool   string
	ranks  int32
	// each is how many GPUs a rank has.
	each int32
	edit []func(*v1alpha1.TrainingJob)
	// reach what the gang is to be like, from its creation on.
	reach func(*stage, string)
}

func (g gang) gpus() int32 { return g.ranks * g.each }

// at names a copy.
func (g gang) at(i int32) string { return fmt.Sprintf("%s-%d", g.name, i) }

const (
	saveSteps, stallSteps = 100, 150
	// staller saves once after 100 steps of each attempt, trains 50 more, and stalls until the test lets it
	// finish. So checkpoints do not depend on timing, and there is no progress to write.
	staller = "steps=100000 rate=1000 every=100ms save=50ms start=300ms stall-after=150 on-sigterm=die"
	// failer fails so often that it waits for its backoff, and then runs.
	failer = staller + " fail-at=20 fail-attempts="
)

// gangs of every phase but Restarting. With one of that phase they are forty in the long form.
func gangs(scheduler string) []gang {
	unserved := v1alpha1.SchedulerVolcano
	if scheduler == localcluster.SchedulerVolcano {
		unserved = v1alpha1.SchedulerCoscheduling
	}
	return []gang{
		{"running", 3, crowd, 3, 1, nil, runs},
		{"roles", 2, crowd, 3, 1, with(ofRoles), runs},
		{"mpi", 2, crowd, 3, 1, with(ofMPI), runs},
		{"elastic", 2, crowd, 3, 1, with(elastic), runs},
		{"training", 4, crowd, 2, 1, with(trains(staller)), trainedIn(1)},
		{"resumed", 2, crowd, 2, 1, with(trains(staller)), disrupted},
		{"failed-once", 2, crowd, 2, 1, with(trains(failer + "1")), restarted},
		{"suspended-trained", 2, crowd, 2, 1, with(trains(staller), deletesClaim), suspendedAfterTraining},
		{"suspended", 2, crowd, 2, 1, with(suspended), reaches(v1alpha1.PhaseSuspended)},
		{"succeeded", 2, crowd, 2, 1, with(ends("0")), reaches(v1alpha1.PhaseSucceeded)},
		{"kept", 1, crowd, 2, 1, with(ends("0"), keepsPods), reaches(v1alpha1.PhaseSucceeded)},
		{"failed", 2, crowd, 2, 1, with(ends("3"), noRetry), reaches(v1alpha1.PhaseFailed)},
		{"pending", 2, crowd, 2, 1, with(onScheduler(unserved)), reaches(v1alpha1.PhasePending)},
		{"too-large", 2, crowd, 1, 2 * gpusPerNode, nil, says(v1alpha1.ReasonNoNodeLargeEnough)},
		{"elsewhere", 1, crowd, 2, 1, with(managedElsewhere), nil},
		{"holder", 1, full, 2, gpusPerNode / 2, nil, runs},
		{"waits-for-gpus", 2, full, 2, gpusPerNode / 2, nil, reaches(v1alpha1.PhaseQueued)},
		{"quota-holder", 1, quota, 1, gpusOfQuota, nil, runs},
		{"waits-for-quota", 1, quota, 1, gpusOfQuota, nil, says(v1alpha1.ReasonQuotaExceeded)},
		{"contested", 1, contested, 2, gpusPerNode / 2, with(trains(staller), ofClass(low)), trainedIn(1)},
		{"starting", 1, silent, 2, 1, nil, says(v1alpha1.ReasonContainerCreating)},
		{"draining", 1, silent, 2, 1, nil, drains},
	}
}

// restarting is a gang that has failed twice. Each upgrade creates another one, since it waits only 20 s.
var restarting = gang{"restarting", 1, crowd, 2, 1, with(trains(failer + "2")), backsOff}

type edit = func(*v1alpha1.TrainingJob)

func with(edits ...edit) []edit { return edits }

// submit a gang under a name.
func (s *stage) submit(g gang, name string) {
	s.t.Helper()
	inQueue := func(j *v1alpha1.TrainingJob) {
		switch {
		case s.scheduler == localcluster.SchedulerKueue:
			metav1.SetMetaDataLabel(&j.ObjectMeta, kueue.QueueLabel, ownQueue)
		case s.scheduler == localcluster.SchedulerVolcano && g.pool == quota:
			j.Spec.RunPolicy.SchedulingPolicy.Queue = smallQueue
		}
	}
	s.pools[g.pool].Job(name, g.ranks, fmt.Sprint(g.each), append([]edit{inQueue}, g.edit...)...)
}

// trains makes the ranks simulated trainers, with checkpoints.
func trains(annotation string) edit {
	return func(j *v1alpha1.TrainingJob) {
		inRole(j, v1alpha1.RoleWorker, *j.Spec.Replicas)
		annotate(j, localcluster.AnnotationTrainer, annotation)
		class := localcluster.StorageClass
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{StorageClassName: &class}}
	}
}

// inRole moves the simple form's ranks, or so many of them, into a role of the full form.
func inRole(j *v1alpha1.TrainingJob, role v1alpha1.Role, ranks int32) {
	sp := &j.Spec
	if sp.ReplicaSpecs == nil {
		sp.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	}
	sp.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{
		Replicas: &ranks,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeSelector: sp.NodeSelector, Tolerations: sp.Tolerations,
			Containers: []corev1.Container{{
				Name: "trainer", Image: sp.Image, Command: sp.Command, Resources: sp.Resources,
			}},
		}},
	}
	if left := *sp.Replicas - ranks; left > 0 {
		sp.Replicas = &left
		return
	}
	sp.Replicas, sp.NodeSelector, sp.Tolerations, sp.Image, sp.Command = nil, nil, nil, "", nil
	sp.Resources = corev1.ResourceRequirements{}
}

func annotate(j *v1alpha1.TrainingJob, key, value string) {
	for role, r := range j.Spec.ReplicaSpecs {
		metav1.SetMetaDataAnnotation(&r.Template.ObjectMeta, key, value)
		j.Spec.ReplicaSpecs[role] = r
	}
}

func ofRoles(j *v1alpha1.TrainingJob) {
	j.Spec.Framework = v1alpha1.FrameworkPyTorch
	inRole(j, v1alpha1.RoleMaster, 1)
	inRole(j, v1alpha1.RoleWorker, *j.Spec.Replicas)
}

func ofMPI(j *v1alpha1.TrainingJob) {
	j.Spec.Framework = v1alpha1.FrameworkMPI
	inRole(j, v1alpha1.RoleLauncher, 1)
	inRole(j, v1alpha1.RoleWorker, *j.Spec.Replicas)
}

func elastic(j *v1alpha1.TrainingJob) {
	j.Spec.Framework = v1alpha1.FrameworkPyTorch
	j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: *j.Spec.Replicas - 1}
}

// ends the ranks at once, with an exit code.
func ends(code string) edit {
	return func(j *v1alpha1.TrainingJob) {
		inRole(j, v1alpha1.RoleWorker, *j.Spec.Replicas)
		annotate(j, localcluster.AnnotationRunSeconds, "0")
		annotate(j, localcluster.AnnotationExitCode, code)
	}
}

func keepsPods(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanPodNone }

func noRetry(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = new(int32(0)) }

func suspended(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) }

func deletesClaim(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint.PVC.Retain = v1alpha1.DeleteClaim }

func managedElsewhere(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = "example.com/another" }

func ofClass(name string) edit {
	return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = name }
}

func onScheduler(name v1alpha1.SchedulerName) edit {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Scheduler = name
		delete(j.Labels, kueue.QueueLabel)
	}
}
