package agent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"syscall"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// options of `agent run`. A flag overrides the environment, which overrides the default.
type options struct {
	location
	statusFile, commandFile string
	// beatFile is empty where the operator does not watch the ranks.
	beatFile string
	// settingsFile is empty where the trainer looks at none.
	settingsFile string
	// settings at the start; zero where the environment does not have both numbers.
	settings       checkpoint.Settings
	terminationLog string
	jobUID         string
	// pinned is the resume point, as a URI or a path; empty: none.
	pinned      string
	attempt     int32
	rank        int
	grace, poll time.Duration
	// askResume: the latest resume point is asked for before the trainer starts. A rank that starts again
	// inside an attempt has an older one in its environment.
	askResume bool
	// rehearsal: the agent records what it sees of the trainer, and obeys commands that kill it.
	rehearsal bool
	// kubeflow: rank 0's agent receives progress by the protocol of Kubeflow Trainer.
	kubeflow bool
	// signalGroup sends signals to the trainer's whole process group.
	signalGroup bool
	// checkpointSignal is sent to the trainer with each command; 0: none.
	checkpointSignal syscall.Signal
	// keepLast complete checkpoints, at the start; 0: retention is off.
	keepLast int
	server   server
	command  []string
}

// unparsedOptions are the flags whose text has yet to be parsed.
type unparsedOptions struct {
	dir, uri, grace, attempt, rank, signal, interval string
	retain                                           bool
}

func parseRun(args []string, env func(string) string, stderr io.Writer) (*options, error) {
	o, text := &options{}, &unparsedOptions{}
	f := flag.NewFlagSet("agent run", flag.ContinueOnError)
	f.SetOutput(stderr)
	server := serverFlags(f, env)
	runFlags(f, env, o, text)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.server, o.command = *server, f.Args()
	errs := o.parseNumbers(text, env(checkpoint.EnvKeepLast))
	switch text.signal {
	case "":
	case "USR1":
		o.checkpointSignal = syscall.SIGUSR1
	case "USR2":
		o.checkpointSignal = syscall.SIGUSR2
	default:
		errs = append(errs, fmt.Errorf("checkpoint-signal is %q: use USR1 or USR2", text.signal))
	}
	if len(o.command) == 0 {
		errs = append(errs, errors.New("no command: write it after --"))
	}
	if o.poll <= 0 {
		errs = append(errs, fmt.Errorf("poll is %s: give a longer time", o.poll))
	}
	var err error
	o.location, err = parseLocation(text.dir, text.uri)
	return o, errors.Join(append(errs, err, o.server.validate())...)
}

func runFlags(f *flag.FlagSet, env func(string) string, o *options, text *unparsedOptions) {
	f.StringVar(&text.dir, "dir", env(checkpoint.EnvDir), "where this attempt's checkpoints are written")
	f.StringVar(&text.uri, "uri", env(checkpoint.EnvURI),
		"URI of the directory that holds the attempts' directories")
	f.StringVar(&o.statusFile, "status-file", env(checkpoint.EnvStatusFile),
		"file that the trainer writes its status to")
	f.StringVar(&o.beatFile, "beat-file", env(checkpoint.EnvBeatFile),
		"file that the trainer writes its beats to; empty: the agent posts none")
	f.StringVar(&o.commandFile, "command-file", env(checkpoint.EnvCommandFile),
		"file that the trainer reads commands from")
	f.StringVar(&o.settingsFile, "settings-file", env(checkpoint.EnvSettingsFile),
		"file that the trainer reads its settings from")
	f.StringVar(&text.interval, "interval", env(checkpoint.EnvInterval), "seconds between two checkpoints")
	f.StringVar(&o.terminationLog, "termination-log", defaultTerminationLog,
		"where the last word goes; empty: nowhere")
	f.StringVar(&o.jobUID, "job-uid", env(checkpoint.EnvJobUID),
		"the job's UID: manifests with another one are not ours")
	f.StringVar(&o.pinned, "resume-from", env(checkpoint.EnvResume),
		"the resume point, which retention never deletes")
	f.BoolVar(&o.askResume, "ask-resume", false,
		"ask the operator for the latest resume point before the trainer starts")
	f.StringVar(&text.attempt, "attempt", env(checkpoint.EnvAttempt), "the attempt's number")
	f.StringVar(&text.rank, "rank", env("RANK"), "the rank: only rank 0 looks at checkpoints and reports")
	f.StringVar(&text.grace, "grace", env(checkpoint.EnvGrace), "seconds between SIGTERM and SIGKILL")
	f.BoolVar(&o.kubeflow, "kubeflow", env(checkpoint.EnvKubeflow) == "true",
		"receive the trainer's progress by the protocol of Kubeflow Trainer, on loopback")
	f.BoolVar(&o.rehearsal, "rehearsal", false,
		"record what the trainer loads, trains and saves, and kill it when the operator of a rehearsal asks")
	f.BoolVar(&o.signalGroup, "signal-group", false,
		"send signals to the trainer's whole process group, for a shell that does not pass them on")
	f.StringVar(&text.signal, "checkpoint-signal", "",
		"also send this signal (USR1, USR2) with a command; default none")
	f.BoolVar(&text.retain, "retain", false,
		"delete complete checkpoints older than the last $"+checkpoint.EnvKeepLast)
	f.DurationVar(&o.poll, "poll", time.Second, "how often the status file and the directory are looked at")
}

func (o *options) parseNumbers(text *unparsedOptions, keepLast string) []error {
	var errs []error
	number := func(name, text string, def, low, high int) int {
		n, err := parseNumber(name, text, def, low, high)
		if err != nil {
			errs = append(errs, err)
		}
		return n
	}
	o.attempt = int32(number("attempt", text.attempt, 1, 1, maxAttempt))
	o.rank = number("rank", text.rank, 0, 0, 1_000_000)
	o.grace = time.Duration(number("grace", text.grace, 30, 0, 86_400)) * time.Second
	o.settings = checkpoint.Settings{
		IntervalSeconds: int32(number("interval", text.interval, 300, 1, 604_800)),
		KeepLast:        int32(number(checkpoint.EnvKeepLast, keepLast, 3, 1, 1000)),
	}
	if text.retain {
		o.keepLast = number(checkpoint.EnvKeepLast, keepLast, 0, 1, 1000)
	}
	return errs
}

// keep returns what retention must not delete, without its number. Nothing may be deleted if the resume point
// is out of sight.
func (o *options) keep() (checkpoint.Keep, error) {
	keep := checkpoint.Keep{Pinned: o.pathOf(o.pinned), Attempt: o.attempt}
	if o.pinned != "" && keep.Pinned == "" {
		return keep, fmt.Errorf("deleting nothing: the resume point %s does not lie under %s",
			checkpoint.Printable(o.pinned, 100), o.base)
	}
	return keep, nil
}
