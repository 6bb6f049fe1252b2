package write

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// NeedsKey reports whether the plan creates ranks that reach each other by ssh, and have no key yet.
func NeedsKey(job *v1alpha1.TrainingJob, plan trainingjob.Plan) bool {
	return !plan.Transition && len(plan.Create) > 0 && spec.NeedsSSH(job) && spec.SSHKey(job) == nil
}

// MakeKey creates a key for the job, and records it in the status before any rank exists. The caller does
// nothing else in this reconcile.
//
// The operator can create Secrets, but not read, change or delete them. So it uses only a Secret whose create
// the API server has confirmed to this process. The name is new with every key, and the job never uses a
// Secret that existed. If the answer or the write of the status is lost, the next reconcile creates another
// key. The garbage collector deletes the unused Secret with the job.
func (w *Objects) MakeKey(ctx context.Context, job *v1alpha1.TrainingJob, statuses *Statuses) error {
	err := w.confirmAttempt(ctx, job)
	if err != nil {
		return err
	}
	key, err := w.createKey(ctx, job)
	if rejected, ok := errors.AsType[*memory.Rejection](err); ok {
		w.backOff(job, rejected)
	}
	if err != nil {
		return err
	}
	status := *job.Status.DeepCopy()
	status.MPI = key
	if _, err := statuses.patch(ctx, job, status); err != nil {
		return err
	}
	return memory.ErrStale // the ranks are created by what is recorded
}

// createKey creates the Secret of a new key.
func (w *Objects) createKey(ctx context.Context, job *v1alpha1.TrainingJob) (*v1alpha1.MPIStatus, error) {
	public, private, err := newSSHKey("trainingjob " + job.Name)
	if err != nil {
		return nil, err
	}
	key := &v1alpha1.MPIStatus{SSHPublicKey: public, SSHSecretName: spec.SSHSecretName(job, public)}
	err = w.Client.Create(ctx, render.SSHSecret(job, key, private), client.FieldOwner(v1alpha1.OperatorName))
	switch {
	case err == nil:
		return key, nil
	case apierrors.IsAlreadyExists(err):
		return nil, memory.ErrStale // whose it is cannot be known: the next key has another name
	}
	if r, ok := memory.RejectedObject(err, memory.SecretKind, key.SSHSecretName); ok {
		return nil, r
	}
	return nil, fmt.Errorf("creating Secret %s: %w", key.SSHSecretName, err)
}

// newSSHKey makes an Ed25519 key, which OpenSSH takes since 6.5: the public one as a line of authorized_keys
// without a comment, the private one as ssh-keygen writes it.
func newSSHKey(comment string) (public string, private []byte, err error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, fmt.Errorf("making a key: %w", err)
	}
	line, err := ssh.NewPublicKey(pub)
	if err != nil {
		return "", nil, fmt.Errorf("writing a public key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(priv, comment)
	if err != nil {
		return "", nil, fmt.Errorf("writing a private key: %w", err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))), pem.EncodeToMemory(block), nil
}
