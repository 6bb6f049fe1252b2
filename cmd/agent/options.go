package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// options of `agent run`. Flags, then the environment, then defaults.
type options struct {
	// dir is where this attempt's checkpoints lie; base holds the attempts' directories; both empty: no volume is looked at.
	dir, base string
	// uri of base; nil: paths are reported as they are.
	uri *checkpoint.URI
	// object: checkpoints are on an object store, which only the trainer can see.
	object                  bool
	statusFile, commandFile string
	terminationLog          string
	jobUID                  string
	pinned                  string
	attempt                 int32
	rank                    int
	grace, poll             time.Duration
	signalGroup             bool
	checkpointSignal        syscall.Signal
	keepLast                int
	server                  server
	command                 []string
}

func serverFlags(f *flag.FlagSet, env func(string) string) *server {
	s := &server{caPEM: env(checkpoint.EnvCA)}
	f.StringVar(&s.url, "report-url", env(checkpoint.EnvReportURL), "https URL that reports go to; empty: nowhere")
	f.StringVar(&s.tokenFile, "token-file", env(checkpoint.EnvTokenFile), "file with the token that a report carries")
	f.StringVar(&s.caFile, "ca-file", "", "file with the server's CA certificates; default $"+checkpoint.EnvCA)
	return s
}

var attemptName = regexp.MustCompile(`^attempt-[1-9][0-9]*$`)

func parseRun(args []string, env func(string) string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("agent run", flag.ContinueOnError)
	f.SetOutput(stderr)
	srv := serverFlags(f, env)
	var uri, graceText, attemptText, rankText, signalName string
	var retain bool
	f.StringVar(&o.dir, "dir", env(checkpoint.EnvDir), "where this attempt's checkpoints are written")
	f.StringVar(&uri, "uri", env(checkpoint.EnvURI), "URI of the directory that holds the attempts' directories")
	f.StringVar(&o.statusFile, "status-file", env(checkpoint.EnvStatusFile), "file that the trainer writes its status to")
	f.StringVar(&o.commandFile, "command-file", env(checkpoint.EnvCommandFile), "file that the trainer reads commands from")
	f.StringVar(&o.terminationLog, "termination-log", defaultTerminationLog, "where the last word goes; empty: nowhere")
	f.StringVar(&o.jobUID, "job-uid", env(checkpoint.EnvJobUID), "the job's UID: manifests with another one are not ours")
	f.StringVar(&o.pinned, "resume-from", env(checkpoint.EnvResume), "the resume point, which retention never deletes")
	f.StringVar(&attemptText, "attempt", env(checkpoint.EnvAttempt), "the attempt's number")
	f.StringVar(&rankText, "rank", env("RANK"), "the rank: only rank 0 looks at checkpoints and reports")
	f.StringVar(&graceText, "grace", env(checkpoint.EnvGrace), "seconds between SIGTERM and SIGKILL")
	f.BoolVar(&o.signalGroup, "signal-group", false, "send signals to the trainer's whole process group, for a shell that does not pass them on")
	f.StringVar(&signalName, "checkpoint-signal", "", "also send this signal (USR1, USR2) with a command; default none")
	f.BoolVar(&retain, "retain", false, "delete complete checkpoints older than the last $"+checkpoint.EnvKeepLast)
	f.DurationVar(&o.poll, "poll", time.Second, "how often the status file and the directory are looked at")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.server, o.command = *srv, f.Args()
	var errs []error
	number := func(name, text string, def, low, high int) int {
		if text == "" {
			return def
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			errs = append(errs, fmt.Errorf("%s is %q: give a whole number from %d to %d", name, text, low, high))
		}
		return n
	}
	o.attempt = int32(number("attempt", attemptText, 1, 1, 1_000_000))
	o.rank = number("rank", rankText, 0, 0, 1_000_000)
	o.grace = time.Duration(number("grace", graceText, 30, 0, 86_400)) * time.Second
	if retain {
		o.keepLast = number(checkpoint.EnvKeepLast, env(checkpoint.EnvKeepLast), 0, 1, 1000)
	}
	switch signalName {
	case "":
	case "USR1":
		o.checkpointSignal = syscall.SIGUSR1
	case "USR2":
		o.checkpointSignal = syscall.SIGUSR2
	default:
		errs = append(errs, fmt.Errorf("checkpoint-signal is %q: use USR1 or USR2", signalName))
	}
	if len(o.command) == 0 {
		errs = append(errs, errors.New("no command: write it after --"))
	}
	if o.poll <= 0 {
		errs = append(errs, fmt.Errorf("poll is %s: give a longer time", o.poll))
	}
	return o, errors.Join(append(errs, o.place(uri), o.server.validate())...)
}

// place tells a volume from an object store.
func (o *options) place(uri string) error {
	if uri != "" {
		u, err := checkpoint.ParseURI(uri)
		if err != nil {
			return err
		}
		o.uri = &u
	}
	if strings.Contains(o.dir, "://") {
		u, err := checkpoint.ParseURI(o.dir)
		if err != nil {
			return err
		}
		if o.object = true; o.uri == nil {
			o.uri = &u
		}
		o.dir = ""
		return nil
	}
	if o.dir == "" {
		return nil
	}
	if !filepath.IsAbs(o.dir) || filepath.Clean(o.dir) != o.dir {
		return fmt.Errorf("dir is %q: give a clean absolute path", o.dir)
	}
	if o.base = o.dir; attemptName.MatchString(filepath.Base(o.dir)) {
		o.base = filepath.Dir(o.dir)
	}
	return nil
}

func (s server) validate() error {
	if s.url == "" {
		return nil
	}
	if !strings.HasPrefix(s.url, "https://") {
		return fmt.Errorf("report-url is %q: use https, a token goes along", s.url)
	}
	if s.tokenFile == "" {
		return errors.New("report-url is given, and no token-file: the operator refuses reports without one")
	}
	return nil
}

// pathOf is how a path below base is reported.
func (o *options) uriOf(rel string) (string, error) {
	if o.uri == nil {
		return checkpoint.Printable(filepath.Join(o.base, rel), 1024), nil
	}
	u, err := o.uri.Join(rel)
	return u.String(), err
}

// pinnedPath is the resume point below base; empty when it lies elsewhere.
func (o *options) pinnedPath() string {
	p := o.pinned
	if o.uri != nil && strings.Contains(p, "://") {
		u, err := checkpoint.ParseURI(p)
		if err != nil {
			return ""
		}
		if p, err = (checkpoint.Mount{Dir: o.base, URI: *o.uri}).PathOf(u); err != nil {
			return ""
		}
	}
	rel, err := filepath.Rel(o.base, p)
	if p == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

var getenv = os.Getenv
