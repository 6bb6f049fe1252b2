package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// overMPI is a job of framework mpi: a Launcher and a Worker.
func overMPI() *v1alpha1.TrainingJob {
	job := bert(1)
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "mpi", Image: "mpi:1", Command: []string{"mpirun"},
	}}}}
	job.Spec = v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.FrameworkMPI,
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.RoleLauncher: {Template: pod}, v1alpha1.RoleWorker: {Template: pod},
		},
	}
	return job
}

// withAgent lets jobs start that need the agent.
func (f *fixture) withAgent() {
	f.options.Agent = func() render.Agent { return render.Agent{Image: "agent:1"} }
	f.restart()
}

func (f *fixture) secrets() []corev1.Secret {
	f.t.Helper()
	list := &corev1.SecretList{}
	if err := f.store.List(f.t.Context(), list); err != nil {
		f.t.Fatal(err)
	}
	return list.Items
}

// settleJob reconciles some times, and returns how often a Secret was created. Any other touch of a Secret
// fails the test, and so do reads (see fixture.get): the operator has no right to them.
func (f *fixture) settleJob(passes int) (created int) {
	f.t.Helper()
	for range passes {
		did, _, err := f.reconcile(f.t.Context())
		if err != nil && !errors.Is(err, errLost) {
			f.t.Fatal(err)
		}
		for _, what := range did {
			if strings.HasPrefix(what, "create Secret ") && !strings.HasSuffix(what, "rejected") {
				created++
			}
			if strings.Contains(what, " Secret ") && !strings.HasPrefix(what, "create ") {
				f.t.Errorf("a Secret was touched: %s", what)
			}
		}
		f.sync()
	}
	return created
}

func (f *fixture) podsOfJob() []corev1.Pod {
	f.t.Helper()
	pods := &corev1.PodList{}
	ofJob := client.MatchingLabels{v1alpha1.LabelJobName: "bert"}
	if err := f.store.List(f.t.Context(), pods, ofJob); err != nil {
		f.t.Fatal(err)
	}
	return pods.Items
}

var errLost = errors.New("the connection is lost")

// TestKeyIsMadeOnce: one Secret for all attempts, owned by the job, recorded before the first pod, and
// mounted by all of them.
func TestKeyIsMadeOnce(t *testing.T) {
	f := newFixture(t, overMPI())
	f.withAgent()
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create Pod") && f.job().Status.MPI == nil {
			t.Errorf("%s, before the key is recorded", write)
		}
		return nil
	}
	if n := f.settleJob(8); n != 1 {
		t.Errorf("%d Secrets were created", n)
	}
	f.restart()
	if n := f.settleJob(4); n != 0 {
		t.Errorf("a new process created %d more", n)
	}
	secrets, job := f.secrets(), f.job()
	if len(secrets) != 1 || job.Status.MPI == nil || secrets[0].Name != job.Status.MPI.SSHSecretName {
		t.Fatalf("Secrets %v, recorded %+v", secrets, job.Status.MPI)
	}
	s := secrets[0]
	immutable := s.Immutable != nil && *s.Immutable
	if !metav1.IsControlledBy(&s, job) || !immutable || s.Type != corev1.SecretTypeSSHAuth {
		t.Errorf("the Secret is %+v", s.ObjectMeta)
	}
	signer, err := ssh.ParsePrivateKey(s.Data[corev1.SSHAuthPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	if public != job.Status.MPI.SSHPublicKey {
		t.Errorf("the private key's public one is %q, recorded is %q", public, job.Status.MPI.SSHPublicKey)
	}
	pods := f.podsOfJob()
	if len(pods) != 2 {
		t.Fatalf("%d pods", len(pods))
	}
	for _, pod := range pods {
		mounts := 0
		for _, v := range pod.Spec.Volumes {
			if v.Secret != nil && v.Secret.SecretName == s.Name {
				mounts++
			}
		}
		if mounts != 1 {
			t.Errorf("pod %s mounts the Secret %d times", pod.Name, mounts)
		}
	}
}

// TestKeyAfterACrash: whichever write of the key is the last of a process, or its answer is lost, the next
// process creates a key that the pods use. No pod uses a key that was not recorded.
func TestKeyAfterACrash(t *testing.T) {
	for name, c := range map[string]struct {
		at      string
		secrets int
	}{
		"before the Secret":            {"create Secret ", 1},
		"between Secret and status":    {"patch TrainingJob/status", 2},
		"between status and first pod": {"create Pod ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, overMPI())
			f.withAgent()
			dead := false
			f.reject = func(write string) error {
				recordsKey := c.at != "patch TrainingJob/status" || len(f.secrets()) > 0
				if dead || strings.HasPrefix(write, c.at) && recordsKey {
					dead = true
					return errLost
				}
				return nil
			}
			f.settleJob(6)
			if !dead {
				t.Fatal("the process came through")
			}
			f.reject = nil
			f.restart()
			f.settleJob(6)
			secrets, key := f.secrets(), f.job().Status.MPI
			if len(secrets) != c.secrets || len(f.podsOfJob()) != 2 || key == nil {
				t.Fatalf("%d Secrets, %d pods, recorded %+v", len(secrets), len(f.podsOfJob()), key)
			}
			for _, s := range secrets {
				if !metav1.IsControlledBy(&s, f.job()) {
					t.Errorf("Secret %s stays behind when the job goes", s.Name)
				}
			}
			for _, pod := range f.podsOfJob() {
				for _, v := range pod.Spec.Volumes {
					if v.Secret != nil && v.Secret.SecretName != key.SSHSecretName {
						t.Errorf("pod %s mounts %s, recorded is %s", pod.Name, v.Secret.SecretName, key.SSHSecretName)
					}
				}
			}
		})
	}
}

// TestForeignSecretIsNotTaken: the operator neither uses nor changes an existing Secret of that name. Another
// key has another name.
func TestForeignSecretIsNotTaken(t *testing.T) {
	f := newFixture(t, overMPI())
	f.withAgent()
	var taken string
	f.reject = func(write string) error {
		name, isSecret := strings.CutPrefix(write, "create Secret ")
		if !isSecret || taken != "" {
			return nil
		}
		taken = name
		foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if err := f.store.Create(t.Context(), foreign); err != nil {
			t.Error(err)
		}
		return apierrors.NewAlreadyExists(corev1.Resource("secrets"), name)
	}
	f.settleJob(8)
	key := f.job().Status.MPI
	if taken == "" || key == nil || key.SSHSecretName == taken || len(f.podsOfJob()) != 2 {
		t.Fatalf("taken %q, recorded %+v, %d pods", taken, key, len(f.podsOfJob()))
	}
	for _, s := range f.secrets() {
		if s.Name == taken && (len(s.Data) > 0 || len(s.OwnerReferences) > 0) {
			t.Errorf("the foreign Secret was changed: %+v", s)
		}
	}
}

// TestRecordThatIsNotOursIsNotUsed: a name in the status that no key of this job can have is an attempt to
// mount another Secret of the namespace.
func TestRecordThatIsNotOursIsNotUsed(t *testing.T) {
	job := overMPI()
	job.Status.MPI = &v1alpha1.MPIStatus{SSHSecretName: "database", SSHPublicKey: "ssh-ed25519 AAAA"}
	f := newFixture(t, job)
	f.withAgent()
	if n := f.settleJob(8); n != 1 {
		t.Errorf("%d Secrets were created", n)
	}
	if key := spec.SSHKey(f.job()); key == nil || key.SSHSecretName == "database" {
		t.Errorf("recorded %+v", f.job().Status.MPI)
	}
}

// TestRejectedSecretIsTheBlocker: a quota on Secrets, or a missing right, is the blocker; the operator
// retries.
func TestRejectedSecretIsTheBlocker(t *testing.T) {
	f := newFixture(t, overMPI())
	f.withAgent()
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create Secret ") {
			return apierrors.NewForbidden(corev1.Resource("secrets"), "bert", errors.New("no right"))
		}
		return nil
	}
	f.settleJob(6)
	f.clock.Step(10 * time.Second)
	f.settleJob(2)
	b := f.job().Status.Scheduling.Blocker
	if b == nil || !strings.Contains(b.Message, "no right") || len(f.podsOfJob()) > 0 {
		t.Errorf("blocker %+v, %d pods", b, len(f.podsOfJob()))
	}
	f.reject = nil
	f.clock.Step(10 * time.Minute)
	f.settleJob(4)
	if len(f.podsOfJob()) != 2 {
		t.Errorf("%d pods after the rejection is over", len(f.podsOfJob()))
	}
}
