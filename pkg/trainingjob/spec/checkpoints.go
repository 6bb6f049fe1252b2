package spec

import (
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Defaults of spec.checkpoint.
const (
	DefaultCheckpointPath           = "/checkpoints"
	DefaultCheckpointInterval int32 = 300 // seconds
	DefaultKeepLast           int32 = 3
	DefaultGraceSeconds       int32 = 30
)

// Checkpoints returns spec.checkpoint, or nil when the job takes no checkpoints.
func Checkpoints(job *v1alpha1.TrainingJob) *v1alpha1.CheckpointSpec {
	if c := job.Spec.Checkpoint; c != nil && (c.Enabled == nil || *c.Enabled) {
		return c
	}
	return nil
}

// OnVolume reports whether checkpoints are on a volume, not in an object store.
func OnVolume(c *v1alpha1.CheckpointSpec) bool {
	return c.Storage == "" || c.Storage == v1alpha1.StoragePVC
}

// CheckpointSettings returns the checkpoint settings that can change while the trainer runs.
func CheckpointSettings(c *v1alpha1.CheckpointSpec) checkpoint.Settings {
	return checkpoint.Settings{
		IntervalSeconds: OrDefault(c.Interval, DefaultCheckpointInterval),
		KeepLast:        OrDefault(c.KeepLast, DefaultKeepLast),
	}
}

// OrDefault returns *n, or def when n is nil.
func OrDefault(n *int32, def int32) int32 {
	if n == nil {
		return def
	}
	return *n
}

// ClaimName returns the name of the claim for the job's checkpoints.
func ClaimName(job *v1alpha1.TrainingJob) string {
	if name := job.Spec.Checkpoint.PVC.ClaimName; name != "" {
		return name
	}
	return job.Name + "-checkpoints"
}

// MountPath returns where the claim is mounted in the trainer.
func MountPath(c *v1alpha1.CheckpointSpec) string {
	if c.Path != "" {
		return c.Path
	}
	return DefaultCheckpointPath
}

// CheckpointURI returns the URI of the directory with the attempts' directories of a job with checkpoints.
// Every checkpoint of the job is below it. It fails if spec.checkpoint.uri is invalid.
//
// A claim that the operator creates belongs to one job. On a claim that the user names, and in an object
// store, other jobs can save too. There the job has its own directory, so that it never uses the checkpoint
// of another job, nor of a former job of the same name. Its pods mount only that directory of a claim (see
// SubPath).
func CheckpointURI(job *v1alpha1.TrainingJob) (checkpoint.URI, error) {
	root, err := rootURI(job)
	if err != nil {
		return root, err
	}
	return root.Join(ownDir(job))
}

// rootURI returns the place that the user named.
func rootURI(job *v1alpha1.TrainingJob) (checkpoint.URI, error) {
	c := job.Spec.Checkpoint
	if OnVolume(c) {
		return checkpoint.ParseURI("pvc://" + ClaimName(job))
	}
	return checkpoint.ParseURI(c.URI)
}

// ownDir returns the job's directory below its root; "" if the root belongs to the job alone.
func ownDir(job *v1alpha1.TrainingJob) string {
	if c := job.Spec.Checkpoint; OnVolume(c) && c.PVC.ClaimName == "" {
		return ""
	}
	uid := strings.ReplaceAll(string(job.UID), "-", "")
	return job.Name + "-" + uid[:min(8, len(uid))]
}

// SubPath returns the directory of the claim that the job's pods mount, which the kubelet creates if missing;
// "" for the claim's root. Pods of other jobs on the claim cannot read or write it.
func SubPath(job *v1alpha1.TrainingJob) string { return ownDir(job) }

// CheckpointBase returns CheckpointURI for the trainer: a path for checkpoints on a volume, else the URI.
func CheckpointBase(job *v1alpha1.TrainingJob) (string, error) {
	if c := job.Spec.Checkpoint; OnVolume(c) {
		return MountPath(c), nil
	}
	u, err := CheckpointURI(job)
	return u.String(), err
}

// CheckpointDir returns where an attempt saves, as a path or URI for the trainer.
func CheckpointDir(job *v1alpha1.TrainingJob, attempt int32) (string, error) {
	base, err := CheckpointBase(job)
	return fmt.Sprintf("%s/attempt-%d", base, attempt), err
}

// ResumePoint returns the checkpoint from which a rank that starts now resumes; nil if it starts from
// scratch. It is the settled resume point of the attempt, or under restart scope Rank the latest checkpoint.
func ResumePoint(job *v1alpha1.TrainingJob) *v1alpha1.CheckpointPoint {
	st := job.Status.Checkpoint
	switch {
	case st == nil:
		return nil
	case Scope(job) == v1alpha1.ScopeRank && st.Latest != nil &&
		(st.ResumeFrom == nil || st.Latest.Step > st.ResumeFrom.Step):
		return st.Latest
	}
	return st.ResumeFrom
}

// AsksToResume reports whether the agents of a job request the resume point at each start.
func AsksToResume(job *v1alpha1.TrainingJob) bool {
	return Checkpoints(job) != nil && Scope(job) == v1alpha1.ScopeRank
}

// ResumePath returns ResumePoint as a path or URI for the trainer; "" if there is none.
func ResumePath(job *v1alpha1.TrainingJob) (string, error) {
	point := ResumePoint(job)
	if point == nil {
		return "", nil
	}
	u, err := checkpoint.ParseURI(point.URI)
	if err != nil || !OnVolume(job.Spec.Checkpoint) {
		return u.String(), err
	}
	base, err := CheckpointURI(job)
	if err != nil {
		return "", err
	}
	return checkpoint.Mount{Dir: MountPath(job.Spec.Checkpoint), URI: base}.PathOf(u)
}

// OwnsCheckpoint reports whether a checkpoint is in the place of the job's checkpoints.
func OwnsCheckpoint(job *v1alpha1.TrainingJob, uri string) bool {
	u, err := checkpoint.ParseURI(uri)
	if err != nil {
		return false
	}
	base, err := CheckpointURI(job)
	return err == nil && u.Under(base) && u != base
}

// OpenRequest returns the spec.checkpoint.resumeFrom for the next attempt; "" if there is none, or if it was
// handled already.
func OpenRequest(job *v1alpha1.TrainingJob) string {
	c, cs := Checkpoints(job), job.Status.Checkpoint
	if c == nil || cs != nil && cs.Requested != nil && cs.Requested.ResumeFrom == c.ResumeFrom {
		return ""
	}
	return c.ResumeFrom
}

// Selection returns which checkpoints on the job's volume a search can choose. It fails if the requested
// checkpoint is neither a step nor a URI.
func Selection(job *v1alpha1.TrainingJob) (checkpoint.Selection, error) {
	var s checkpoint.Selection
	if cs := job.Status.Checkpoint; cs != nil && cs.Branch != nil {
		s.BranchAttempt, s.BranchStep = cs.Branch.Attempt, cs.Branch.Step
	}
	d := job.Status.Drain
	if d == nil || d.Resolve == nil {
		return s, nil
	}
	s.OlderThan = d.Resolve.OlderThan
	if d.Resolve.Only == "" {
		return s, nil
	}
	return s.Only(d.Resolve.Only)
}

// ContractEnv are the variables of docs/checkpoints.md. They are the same in every rank, so a user cannot set
// them.
var ContractEnv = []string{
	checkpoint.EnvDir, checkpoint.EnvBase, checkpoint.EnvInterval, checkpoint.EnvKeepLast, checkpoint.EnvResume,
	checkpoint.EnvAttempt, checkpoint.EnvStatusFile, checkpoint.EnvCommandFile, checkpoint.EnvSettingsFile,
	checkpoint.EnvGrace,
	checkpoint.EnvJobUID, checkpoint.EnvURI, checkpoint.EnvReportURL, checkpoint.EnvTokenFile,
	checkpoint.EnvCA, checkpoint.EnvKubeflow, checkpoint.EnvBeatFile, checkpoint.EnvRehearsal,
}
