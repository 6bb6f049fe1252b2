//go:build e2e

package install

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// training lasts longer than the test, with a volume of its own.
type training struct {
	name  string
	ranks int
}

// The pauses leave the processor to others, and the checkpoints are frequent enough to wait for.
const trainingFiles = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: $NAME}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany, ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $DISK}
  claimRef: {namespace: default, name: $NAME-checkpoints}
---
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: $NAME, namespace: default}
spec:
  framework: pytorch
  image: $IMAGE
  command: [/usr/bin/python3, /opt/train.py, --steps, "20000", --step-seconds, "0.5"]
  args: [$ARGS]
  replicas: $RANKS
  resources: {requests: {nvidia.com/gpu: "1", cpu: 50m, memory: 64Mi}}
  checkpoint: {interval: 3, pvc: {storageClassName: "", size: 1Gi}}
`

// train a gang of two ranks until it has saved.
func (a *admin) train(name string) training {
	a.t.Helper()
	j := training{name, 2}
	a.submit(j)
	a.untilSaved(j, 0)
	return j
}

func (a *admin) submit(j training, args ...string) {
	a.t.Helper()
	disk := filepath.Join(a.dir, "disk-"+j.name)
	if err := os.Mkdir(disk, 0o755); err != nil {
		a.t.Fatal(err)
	}
	a.until("the account default is there", func(ctx context.Context) (bool, string, error) {
		err := a.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, "", client.IgnoreNotFound(err)
	})
	files := strings.NewReplacer("$NAME", j.name, "$DISK", disk, "$IMAGE", trainerImage, "$RANKS",
		fmt.Sprint(j.ranks), "$ARGS", strings.Join(args, ", ")).Replace(trainingFiles)
	a.kubectl("apply", "-f", a.write(j.name+".yaml", []byte(files)))
}

// untilSaved waits for a checkpoint after a step, and returns the step of it.
func (a *admin) untilSaved(j training, after int64) int64 {
	a.t.Helper()
	s := a.job(j, fmt.Sprintf("has reported a checkpoint after step %d", after),
		func(s v1alpha1.TrainingJobStatus) bool {
			return s.Phase == v1alpha1.PhaseRunning && s.Progress != nil && s.Checkpoint != nil &&
				s.Checkpoint.Latest != nil && s.Checkpoint.Latest.Step > after
		})
	return s.Checkpoint.Latest.Step
}

// job returns the status of a job once it is as wanted.
func (a *admin) job(
	j training, what string, is func(v1alpha1.TrainingJobStatus) bool,
) v1alpha1.TrainingJobStatus {
	a.t.Helper()
	job := &v1alpha1.TrainingJob{}
	a.until("the job "+j.name+" "+what, func(ctx context.Context) (bool, string, error) {
		err := a.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: j.name}, job)
		return err == nil && is(job.Status), fmt.Sprintf("%+v", job.Status), err
	})
	return job.Status
}

// container of a rank.
type container struct {
	pod      types.UID
	name, id string
	restarts int32
}

// containers of the gang, those beside the trainer too.
func (a *admin) containers(j training) []container {
	a.t.Helper()
	pods := &corev1.PodList{}
	if err := a.client.List(a.t.Context(), pods, client.InNamespace("default"),
		client.MatchingLabels{v1alpha1.LabelJobName: j.name}); err != nil {
		a.t.Fatal(err)
	}
	if len(pods.Items) != j.ranks {
		a.t.Fatalf("%s has %d pods, want %d", j.name, len(pods.Items), j.ranks)
	}
	var all []container
	for _, p := range pods.Items {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			all = append(all, container{p.UID, p.Name + "/" + c.Name, c.ContainerID, c.RestartCount})
		}
	}
	slices.SortFunc(all, func(x, y container) int { return cmp.Compare(x.name, y.name) })
	return all
}

// undisturbed checks that the gang keeps training in the same containers while do changes the operator, and
// that the new leader receives its reports.
func (a *admin) undisturbed(j training, what string, do func()) {
	a.t.Helper()
	before := a.containers(j)
	do()
	// What is saved once that is done. A checkpoint that was on its way may still have reached the one before.
	a.untilSaved(j, a.untilSaved(j, a.untilSaved(j, 0)))
	status := a.job(j, "is there", func(v1alpha1.TrainingJobStatus) bool { return true })
	if status.Attempt != 1 || status.Restarts+status.Preemptions > 0 {
		a.t.Errorf("%s touched the gang: %+v", what, status)
	}
	if diff := gocmp.Diff(before, a.containers(j), gocmp.AllowUnexported(container{})); diff != "" {
		a.t.Errorf("%s touched the gang's containers:\n%s", what, diff)
	}
}

// forget a job, its claim and its volume.
func (a *admin) forget(j training) {
	a.t.Helper()
	a.kubectl("delete", "tj", j.name, "--wait=true")
	a.until("its pods are gone", func(ctx context.Context) (bool, string, error) {
		pods := &corev1.PodList{}
		err := a.client.List(ctx, pods, client.InNamespace("default"),
			client.MatchingLabels{v1alpha1.LabelJobName: j.name})
		return len(pods.Items) == 0, fmt.Sprint(len(pods.Items)), err
	})
	a.kubectl("delete", "--ignore-not-found", "pvc", j.name+"-checkpoints")
	a.kubectl("delete", "pv", j.name)
}
