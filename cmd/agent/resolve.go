package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// resolveTries bounds how often the result is posted; the termination message has it too.
const resolveTries = 6

// volume is a directory and its URI.
type volume struct {
	dir string
	uri *checkpoint.URI
}

type resolver struct {
	volumes        []volume
	jobUID         string
	attempt        int32
	sums           bool
	server         server
	terminationLog string
	clock          clock
	stdout, stderr io.Writer
}

// resolveCommand looks at every volume, prints the result as a report in JSON, posts it and leaves it as termination message. That
// nothing was found is a result; the exit code is 0 when the result is out, one way or another.
func resolveCommand(args []string, stdout, stderr io.Writer) int {
	r, err := parseResolve(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 2
	}
	r.clock, r.stdout, r.stderr = wallClock{}, stdout, stderr
	return r.run()
}

func parseResolve(args []string, env func(string) string, stderr io.Writer) (*resolver, error) {
	r := &resolver{}
	f := flag.NewFlagSet("agent resolve", flag.ContinueOnError)
	f.SetOutput(stderr)
	srv := serverFlags(f, env)
	var volumes []string
	var attempt string
	f.Func("volume", "DIR or DIR=URI that holds the attempts' directories; may be given more than once; default the directory above $"+
		checkpoint.EnvDir+" and $"+checkpoint.EnvURI, func(s string) error { volumes = append(volumes, s); return nil })
	f.StringVar(&r.jobUID, "job-uid", env(checkpoint.EnvJobUID), "the job's UID: manifests with another one are not ours")
	f.StringVar(&attempt, "attempt", env(checkpoint.EnvAttempt), "the attempt that asks")
	f.BoolVar(&r.sums, "sums", true, "compare the SHA-256 of the chosen checkpoint's files, where a manifest has them")
	f.StringVar(&r.terminationLog, "termination-log", defaultTerminationLog, "where the result goes too; empty: nowhere")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	n, err := strconv.Atoi(attempt)
	if attempt == "" {
		n, err = 1, nil
	}
	if err != nil || n < 1 || n > 1_000_000 {
		return nil, fmt.Errorf("attempt is %q: give a whole number from 1 to 1000000", attempt)
	}
	r.attempt, r.server = int32(n), *srv
	if len(volumes) == 0 && env(checkpoint.EnvDir) != "" {
		o := options{dir: env(checkpoint.EnvDir)}
		if err := o.place(env(checkpoint.EnvURI)); err != nil {
			return nil, err
		}
		if o.object {
			return nil, errors.New("the checkpoints are on an object store: nobody but the trainer can see them")
		}
		r.volumes = []volume{{o.base, o.uri}}
	}
	for _, v := range volumes {
		dir, uri, hasURI := strings.Cut(v, "=")
		vol := volume{dir: filepath.Clean(dir)}
		if hasURI {
			u, err := checkpoint.ParseURI(uri)
			if err != nil {
				return nil, err
			}
			vol.uri = &u
		}
		if !filepath.IsAbs(vol.dir) {
			return nil, fmt.Errorf("volume is %q: give an absolute path", dir)
		}
		r.volumes = append(r.volumes, vol)
	}
	if len(r.volumes) == 0 {
		return nil, errors.New("no volume: give --volume DIR=URI")
	}
	return r, r.server.validate()
}

func (r *resolver) run() int {
	report, err := r.resolve()
	if err != nil {
		fmt.Fprintln(r.stderr, "agent:", err)
		r.leave(checkpoint.Termination{
			Reason: checkpoint.ExitFailed, ExitCode: 1, Attempt: r.attempt, Problem: checkpoint.Printable(err.Error(), 512),
		})
		return 1
	}
	data, err := checkpoint.Encode(report)
	if err != nil {
		fmt.Fprintln(r.stderr, "agent:", err)
		return 1
	}
	_, printErr := fmt.Fprintln(r.stdout, string(data))
	left := r.leave(checkpoint.Termination{
		Reason: checkpoint.ExitResolved, Attempt: r.attempt, Phase: checkpoint.PhaseResolved, Checkpoint: report.Checkpoint,
		Layout: report.Layout, PassedOver: report.PassedOver,
	})
	if r.server.url != "" {
		if err := r.post(report); err != nil {
			fmt.Fprintln(r.stderr, "agent: the result was not taken:", err)
			if !left {
				return 1
			}
		}
	} else if printErr != nil && !left {
		return 1
	}
	return 0
}

func (r *resolver) leave(t checkpoint.Termination) bool {
	if r.terminationLog == "" {
		return false
	}
	if err := writeTermination(r.terminationLog, t); err != nil {
		fmt.Fprintln(r.stderr, "agent:", err)
		return false
	}
	return true
}

// resolve chooses over all volumes. One that cannot be read fails the whole: the newest might be on it.
func (r *resolver) resolve() (checkpoint.Report, error) {
	report := checkpoint.Report{Attempt: r.attempt, Phase: checkpoint.PhaseResolved}
	var best *checkpoint.Found
	type passed struct {
		checkpoint.Found
		checkpoint.Passed
	}
	var all []passed
	for _, v := range r.volumes {
		choice, err := v.choose(checkpoint.Options{JobUID: r.jobUID, Sums: r.sums})
		if err != nil {
			return report, fmt.Errorf("looking at %s: %w", v.dir, err)
		}
		o := &options{base: v.dir, uri: v.uri}
		for _, f := range choice.PassedOver {
			all = append(all, passed{f, passedOver([]checkpoint.Found{f}, o.uriOf)[0]})
		}
		if f := choice.Found; f != nil && (best == nil || f.Step > best.Step || f.Step == best.Step && f.Attempt > best.Attempt) {
			uri, err := o.uriOf(f.Path)
			if err != nil {
				return report, err
			}
			best, report.Layout = f, f.Layout
			report.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: uri, Step: f.Step, Bytes: f.Bytes}
		}
	}
	slices.SortStableFunc(all, func(a, b passed) int { return int(min(max(b.Step-a.Step, -1), 1)) })
	for _, p := range all {
		if len(report.PassedOver) < 8 && (best == nil || p.Step > best.Step) {
			report.PassedOver = append(report.PassedOver, p.Passed)
		}
	}
	return report, nil
}

// choose in the volume's directory. The trainer makes it when it first saves: where only it is missing, and not the volume
// above, there is nothing to find.
func (v volume) choose(opts checkpoint.Options) (checkpoint.Choice, error) {
	root, err := os.OpenRoot(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if above, e := os.Stat(filepath.Dir(v.dir)); e == nil && above.IsDir() && filepath.Dir(v.dir) != "/" {
			return checkpoint.Choice{}, nil
		}
	}
	if err != nil {
		return checkpoint.Choice{}, err
	}
	defer root.Close()
	return checkpoint.Resolve(root.FS(), ".", opts, nil)
}

func (r *resolver) post(report checkpoint.Report) error {
	c := r.server.client()
	var err error
	for try := range resolveTries {
		ctx, cancel := context.WithTimeout(context.Background(), reportclient.PostTimeout)
		_, err = c.Post(ctx, report)
		cancel()
		if err == nil {
			return nil
		}
		wait := max(reportclient.FirstBackoff<<try, min(reportclient.RetryAfter(err), time.Minute))
		if try+1 < resolveTries {
			<-r.clock.After(wait)
		}
	}
	return err
}
