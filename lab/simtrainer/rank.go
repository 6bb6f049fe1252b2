package simtrainer

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Rank is what a simulated pod specifies: its annotation, environment and volumes, as the agent and the
// trainer in it would see them.
type Rank struct {
	Spec Spec
	// Container is the index of the trainer's container. Wrapped: the agent runs it and writes its
	// termination message.
	Container int
	Wrapped   bool
	// Number of the rank, below WorldSize. Gang identifies one attempt of one job.
	Number, WorldSize int32
	Gang              string
	Attempt           int32
	// Location of the checkpoints; its URI is empty if there is none. ObjectStore: it is not a volume, so the
	// agent knows only what the trainer says.
	Location    Location
	ObjectStore bool
	// Start identifies the start of the trainer, where it may start again inside an attempt.
	Start string
	// Resume is the checkpoint to resume from, as a path below the location; empty is a fresh start.
	Resume string
	// Every is CHECKPOINT_INTERVAL_SECONDS, Keep CHECKPOINT_KEEP_LAST, Grace TRAININGJOB_GRACE_SECONDS.
	Every time.Duration
	Keep  int
	Grace time.Duration
	// Beats: its agent posts beats. Rehearsal: its agent records what it sees.
	Beats, Rehearsal bool
	// ReportTo is where it reports, unless the URL is empty.
	ReportTo ReportTarget
}

// ReportTarget is where a rank's reports go, and with which token.
type ReportTarget struct {
	URL, CA string
	// Audience and ExpirationSeconds of the projected token, and the service account that it is issued for.
	Audience          string
	ExpirationSeconds *int64
	ServiceAccount    string
}

// readRank parses a pod with the annotation.
func readRank(pod *corev1.Pod) (Rank, error) {
	spec, err := ParseSpec(pod.Annotations[localcluster.AnnotationTrainer])
	if err != nil {
		return Rank{}, fmt.Errorf("reading annotation %s: %w", localcluster.AnnotationTrainer, err)
	}
	index := trainerIndex(pod)
	container := &pod.Spec.Containers[index]
	env := environment(container)
	args, start := slices.Concat(container.Command, container.Args), ""
	if slices.Contains(args, "--ask-resume") {
		start = string(pod.UID)
	}
	r := Rank{Start: start, Spec: spec, Container: index, Wrapped: isWrapped(container), Gang: gangOf(pod)}
	r.Rehearsal = slices.Contains(args, "--rehearsal")
	r.Beats = env[checkpoint.EnvBeatFile] != "" && env[checkpoint.EnvReportURL] != ""
	var errs []error
	count := func(name string, def, low, high int64) int64 {
		if env[name] == "" {
			return def
		}
		n, err := parseWhole(env[name], low, high)
		if err != nil {
			errs = append(errs, fmt.Errorf("$%s is %q: %w", name, env[name], err))
		}
		return n
	}
	if r.Number, err = rankNumber(container); err != nil {
		errs = append(errs, err)
	}
	r.WorldSize = int32(count("WORLD_SIZE", 1, 1, 1_000_000))
	r.Attempt = int32(count(checkpoint.EnvAttempt, 1, 1, 1_000_000))
	r.Every = time.Duration(count(checkpoint.EnvInterval, 300, 1, 604_800)) * time.Second
	r.Keep = int(count(checkpoint.EnvKeepLast, 3, 1, 1000))
	r.Grace = time.Duration(count(checkpoint.EnvGrace, 30, 0, 86_400)) * time.Second
	errs = append(errs, r.readLocation(pod.Namespace, env), r.readReportTarget(pod, env))
	return r, errors.Join(errs...)
}

// readLocation reads the location of the checkpoints and the resume point, as the agent does: the attempt's
// directory lies below the one that TRAININGJOB_CHECKPOINT_URI names.
func (r *Rank) readLocation(namespace string, env map[string]string) error {
	dir, base := env[checkpoint.EnvDir], env[checkpoint.EnvURI]
	if dir == "" {
		return nil
	}
	if base == "" {
		return fmt.Errorf(
			"$%s is missing: it says what $%s is called outside the pod", checkpoint.EnvURI,
			checkpoint.EnvDir,
		)
	}
	uri, err := checkpoint.ParseURI(base)
	if err != nil {
		return fmt.Errorf("$%s: %w", checkpoint.EnvURI, err)
	}
	r.Location = Location{Namespace: namespace, URI: uri.String(), JobUID: env[checkpoint.EnvJobUID]}
	r.ObjectStore = strings.Contains(dir, "://")
	if want := fmt.Sprintf("attempt-%d", r.Attempt); path.Base(dir) != want {
		return fmt.Errorf("$%s is %q: it must end in %s, this attempt's directory", checkpoint.EnvDir, dir, want)
	}
	resume := env[checkpoint.EnvResume]
	if resume == "" {
		return nil
	}
	if !r.ObjectStore {
		at, err := checkpoint.Mount{Dir: path.Dir(dir), URI: uri}.URIOf(resume)
		if err != nil {
			return fmt.Errorf("$%s: %w", checkpoint.EnvResume, err)
		}
		resume = at.String()
	}
	at, err := checkpoint.ParseURI(resume)
	if err != nil {
		return fmt.Errorf("$%s: %w", checkpoint.EnvResume, err)
	}
	rel, ok := at.Rel(uri)
	if !ok {
		return fmt.Errorf("$%s is %q, which does not lie under %s", checkpoint.EnvResume, resume, uri)
	}
	r.Resume = rel
	return nil
}

// readReportTarget reads where to report, and finds the token that the kubelet would project into the pod.
func (r *Rank) readReportTarget(pod *corev1.Pod, env map[string]string) error {
	r.ReportTo = ReportTarget{
		URL: env[checkpoint.EnvReportURL], CA: env[checkpoint.EnvCA], ServiceAccount: pod.Spec.ServiceAccountName,
	}
	if r.ReportTo.URL == "" {
		return nil
	}
	file := env[checkpoint.EnvTokenFile]
	for _, mount := range pod.Spec.Containers[r.Container].VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name != mount.Name || volume.Projected == nil {
				continue
			}
			for _, source := range volume.Projected.Sources {
				token := source.ServiceAccountToken
				if token != nil && path.Join(mount.MountPath, token.Path) == file {
					r.ReportTo.Audience, r.ReportTo.ExpirationSeconds = token.Audience, token.ExpirationSeconds
				}
			}
		}
	}
	switch {
	case !strings.HasPrefix(r.ReportTo.URL, "https://"):
		return fmt.Errorf("$%s is %q: use https, a token goes along", checkpoint.EnvReportURL, r.ReportTo.URL)
	case r.ReportTo.Audience == "":
		return fmt.Errorf("no projected token is mounted at $%s (%q)", checkpoint.EnvTokenFile, file)
	case r.ReportTo.ServiceAccount == "":
		return errors.New("spec.serviceAccountName is empty: a token is bound to an account")
	}
	return nil
}

// saveEvery is the interval between two saves of a trainer with this spec; 0: it has nowhere to save to.
func (r Rank) saveEvery(s Spec) time.Duration {
	switch {
	case r.Location.URI == "":
		return 0
	case s.Every > 0:
		return s.Every
	}
	return r.Every
}
