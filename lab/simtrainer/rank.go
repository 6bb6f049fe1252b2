package simtrainer

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Rank is what a pod with the annotation says: its own environment and its own volumes, as the agent and the trainer in it would find
// them.
type Rank struct {
	Spec Spec
	// Container of the trainer, by its index, and whether the agent runs it: then the last word is the agent's.
	Container int
	Wrapped   bool
	// Number of the rank, of World in the gang. Gang is the same in all ranks of an attempt, and in no other.
	Number, World int32
	Gang          string
	Attempt       int32
	// Place of the checkpoints; an empty URI: there is none. Object: it is no volume, so that the trainer's word is all there is.
	Place  Place
	Object bool
	// Resume is the path of the checkpoint to resume from, below the place; empty: start anew.
	Resume string
	// Every is what CHECKPOINT_INTERVAL_SECONDS says, Keep what CHECKPOINT_KEEP_LAST says, Grace what TRAININGJOB_GRACE_SECONDS says.
	Every time.Duration
	Keep  int
	Grace time.Duration
	// Reports go there, if the URL is not empty.
	Reports Reports
}

// Reports is where a rank's reports go, and with which token.
type Reports struct {
	URL, CA string
	// Audience and ExpirationSeconds of the projected token, and the account that it is for.
	Audience          string
	ExpirationSeconds *int64
	ServiceAccount    string
}

// gangOf is what the ranks of one attempt have in common; empty for a pod without the annotation.
func gangOf(pod *corev1.Pod) string {
	if _, ok := pod.Annotations[localcluster.AnnotationTrainer]; !ok {
		return ""
	}
	env := environment(trainerOf(pod))
	job := env[checkpoint.EnvJobUID]
	if owner := metav1.GetControllerOf(pod); job == "" && owner != nil {
		job = string(owner.UID)
	}
	if job == "" {
		job = string(pod.UID)
	}
	return pod.Namespace + "/" + job + "/" + env[checkpoint.EnvAttempt]
}

// isLeader says whether the pod is rank 0, which trains for all.
func isLeader(pod *corev1.Pod) bool {
	n, err := rankNumber(trainerOf(pod))
	return err == nil && n == 0
}

// readRank reads a pod that has the annotation.
func readRank(pod *corev1.Pod) (Rank, error) {
	spec, err := ParseSpec(pod.Annotations[localcluster.AnnotationTrainer])
	if err != nil {
		return Rank{}, fmt.Errorf("reading annotation %s: %w", localcluster.AnnotationTrainer, err)
	}
	index := trainerIndex(pod)
	container := &pod.Spec.Containers[index]
	env := environment(container)
	r := Rank{Spec: spec, Container: index, Wrapped: isWrapped(container), Gang: gangOf(pod)}
	var errs []error
	count := func(name string, def, low, high int64) int64 {
		if env[name] == "" {
			return def
		}
		n, err := whole(env[name], low, high)
		if err != nil {
			errs = append(errs, fmt.Errorf("$%s is %q: %w", name, env[name], err))
		}
		return n
	}
	if r.Number, err = rankNumber(container); err != nil {
		errs = append(errs, err)
	}
	r.World = int32(count("WORLD_SIZE", 1, 1, 1_000_000))
	r.Attempt = int32(count(checkpoint.EnvAttempt, 1, 1, 1_000_000))
	r.Every = time.Duration(count(checkpoint.EnvInterval, 300, 1, 604_800)) * time.Second
	r.Keep = int(count(checkpoint.EnvKeepLast, 3, 1, 1000))
	r.Grace = time.Duration(count(checkpoint.EnvGrace, 30, 0, 86_400)) * time.Second
	errs = append(errs, r.readPlace(pod.Namespace, env), r.readReports(pod, env))
	return r, errors.Join(errs...)
}

// readPlace as the agent does: the directory of the attempt lies below the one that TRAININGJOB_CHECKPOINT_URI names.
func (r *Rank) readPlace(namespace string, env map[string]string) error {
	dir, base := env[checkpoint.EnvDir], env[checkpoint.EnvURI]
	if dir == "" {
		return nil
	}
	if base == "" {
		return fmt.Errorf("$%s is missing: it says what $%s is called outside the pod", checkpoint.EnvURI, checkpoint.EnvDir)
	}
	uri, err := checkpoint.ParseURI(base)
	if err != nil {
		return fmt.Errorf("$%s: %w", checkpoint.EnvURI, err)
	}
	r.Place = Place{Namespace: namespace, URI: uri.String(), JobUID: env[checkpoint.EnvJobUID]}
	r.Object = strings.Contains(dir, "://")
	if want := fmt.Sprintf("attempt-%d", r.Attempt); path.Base(dir) != want {
		return fmt.Errorf("$%s is %q: it must end in %s, this attempt's directory", checkpoint.EnvDir, dir, want)
	}
	resume := env[checkpoint.EnvResume]
	if resume == "" {
		return nil
	}
	if !r.Object {
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

// readReports finds the token that the kubelet would put into the pod.
func (r *Rank) readReports(pod *corev1.Pod, env map[string]string) error {
	r.Reports = Reports{URL: env[checkpoint.EnvReportURL], CA: env[checkpoint.EnvCA], ServiceAccount: pod.Spec.ServiceAccountName}
	if r.Reports.URL == "" {
		return nil
	}
	file := env[checkpoint.EnvTokenFile]
	for _, mount := range pod.Spec.Containers[r.Container].VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name != mount.Name || volume.Projected == nil {
				continue
			}
			for _, source := range volume.Projected.Sources {
				if token := source.ServiceAccountToken; token != nil && path.Join(mount.MountPath, token.Path) == file {
					r.Reports.Audience, r.Reports.ExpirationSeconds = token.Audience, token.ExpirationSeconds
				}
			}
		}
	}
	switch {
	case !strings.HasPrefix(r.Reports.URL, "https://"):
		return fmt.Errorf("$%s is %q: use https, a token goes along", checkpoint.EnvReportURL, r.Reports.URL)
	case r.Reports.Audience == "":
		return fmt.Errorf("no projected token is mounted at $%s (%q)", checkpoint.EnvTokenFile, file)
	case r.Reports.ServiceAccount == "":
		return errors.New("spec.serviceAccountName is empty: a token is bound to an account")
	}
	return nil
}

// saveEvery is how often the rank's trainer saves when it behaves so; 0: it has no place to save to.
func (r Rank) saveEvery(s Spec) time.Duration {
	switch {
	case r.Place.URI == "":
		return 0
	case s.Every > 0:
		return s.Every
	}
	return r.Every
}

// uri of a checkpoint, by its path below the place.
func (p Place) uri(rel string) string { return p.URI + "/" + rel }

// trainerOf is the container that has the contract's environment, else the first.
func trainerOf(pod *corev1.Pod) *corev1.Container { return &pod.Spec.Containers[trainerIndex(pod)] }

func trainerIndex(pod *corev1.Pod) int {
	return max(0, slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return isWrapped(&c) }))
}

func isWrapped(c *corev1.Container) bool {
	return len(c.Command) > 2 && path.Base(c.Command[0]) == "agent" && c.Command[1] == "run" && slices.Contains(c.Command, "--")
}

// rankNumber is the agent's, else the environment's; a pod that says none is alone.
func rankNumber(c *corev1.Container) (int32, error) {
	text := environment(c)["RANK"]
	if isWrapped(c) {
		for _, arg := range c.Command[:slices.Index(c.Command, "--")] {
			if number, ok := strings.CutPrefix(arg, "--rank="); ok {
				text = number
			}
		}
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the rank is %q: give a whole number from 0", text)
	}
	return int32(n), nil
}

// environment with the values that are written there. $$ is how a container's value writes a $.
func environment(c *corev1.Container) map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = strings.ReplaceAll(e.Value, "$$", "$")
	}
	return env
}

// Resolver is what a pod that runs `agent resolve` looks for.
type Resolver struct {
	Place   Place
	Attempt int32
}

// readResolver reads the arguments of such a pod.
func readResolver(pod *corev1.Pod) (Resolver, error) {
	c := &pod.Spec.Containers[0]
	args := slices.Concat(c.Command, c.Args)
	at := slices.Index(args, "resolve")
	if at < 0 {
		return Resolver{}, errors.New("its command is not agent resolve")
	}
	f := flag.NewFlagSet("agent resolve", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	volume, attempt := f.String("volume", "", ""), f.Int("attempt", 1, "")
	uid := f.String("job-uid", environment(c)[checkpoint.EnvJobUID], "")
	if err := f.Parse(args[at+1:]); err != nil {
		return Resolver{}, err
	}
	_, text, ok := strings.Cut(*volume, "=")
	if !ok {
		return Resolver{}, fmt.Errorf("volume is %q: give --volume DIR=URI", *volume)
	}
	uri, err := checkpoint.ParseURI(text)
	if err != nil {
		return Resolver{}, fmt.Errorf("volume: %w", err)
	}
	return Resolver{Place{pod.Namespace, uri.String(), *uid}, int32(*attempt)}, nil
}
