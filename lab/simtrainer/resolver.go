package simtrainer

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Resolver is what a pod that runs `agent resolve` searches.
type Resolver struct {
	Location Location
	Attempt  int32
	// Selection of the checkpoints that may be chosen.
	Selection checkpoint.Selection
}

// allowed returns what a selection allows.
func (r Resolver) allowed(s checkpoint.Selection) func(Checkpoint) bool {
	s.Path = strings.TrimPrefix(s.URI, r.Location.URI+"/")
	return func(c Checkpoint) bool {
		return s.Allows(&checkpoint.Found{Path: c.Path, Attempt: c.Attempt, Step: c.Step})
	}
}

// readResolver parses the arguments of such a pod.
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
	var selection checkpoint.Selection
	selection.Flags(f)
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
	return Resolver{Location{pod.Namespace, uri.String(), *uid}, int32(*attempt), selection}, nil
}
