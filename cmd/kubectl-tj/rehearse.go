package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// rehearseOptions are the flags of rehearse.
type rehearseOptions struct {
	cluster
	output
	streams
	rehearsalOptions
	file    string
	ways    []string
	replace bool
	remove  bool
	dryRun  bool
	now     clock.PassiveClock
}

const rehearseHelp = `Rehearse a TrainingJob: prove that it resumes, before you rely on it.

It creates the job JOB-rehearsal with the same program, pods and queue, and its own checkpoint directory.
The operator ends its attempts in several ways, and checks that the trainer saves and resumes. The command
prints the checks. An interrupt of the command does not stop the rehearsal.

The trainer's real code runs with its real credentials. It gets TRAININGJOB_REHEARSAL=1, so that it can leave
out what has effects elsewhere, such as uploads.

Exit codes: 0 passed, 1 the cluster refused, 2 wrong usage, 4 a check failed, 5 incomplete.`

func rehearseCommand(s streams, now clock.PassiveClock) *cobra.Command {
	o := &rehearseOptions{streams: s, now: now}
	cmd := &cobra.Command{
		Use:   "rehearse JOB | -f FILE",
		Short: "Prove that a TrainingJob resumes; creates a job",
		Long:  rehearseHelp,
		Example: "  kubectl tj rehearse bert\n" +
			"  kubectl tj rehearse bert --ranks 1 --ways Kill,Ask\n" +
			"  kubectl tj rehearse -f bert.yaml --dry-run > bert-rehearsal.yaml",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.cluster = newCluster(cmd.Flags())
	o.addFlags(cmd.Flags())
	cmd.ValidArgsFunction = completeJob(o.cluster, s)
	return cmd
}

func (o *rehearseOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.file, "filename", "f", "", "file with the job, - for stdin, instead of JOB")
	flags.Int32Var(&o.ranks, "ranks", 0, "number of ranks, by fewer Workers; default: the job's own")
	flags.BoolVar(&o.exact, "exact", false, "the losses of steps that are trained twice must be equal bit for "+
		"bit")
	flags.StringSliceVar(&o.ways, "ways", nil, "ways to end attempts, of Kill, Ask, Term and KillInSave; "+
		"default: all")
	flags.DurationVar(&o.timeout, "timeout", time.Hour, "how long all attempts together can run, and as long "+
		"again in the queue: 5m to 24h")
	flags.BoolVar(&o.replace, "replace", false, "delete an earlier rehearsal of the job, if it has ended")
	flags.BoolVar(&o.remove, "delete", false, "delete the rehearsal at its end, with its checkpoints on a "+
		"claim that the operator created")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the job that would be created, and create nothing")
	flags.StringVarP(&o.format, "output", "o", "", "json or yaml, of the result, or of the job with --dry-run; "+
		"default: text, and yaml with --dry-run")
}

// knownWays are the values of --ways.
var knownWays = []v1alpha1.RehearsalWay{
	v1alpha1.RehearsalKill, v1alpha1.RehearsalAsk, v1alpha1.RehearsalTerm, v1alpha1.RehearsalKillInSave,
}

const maxWays = 8

// validate the flags, and complete those of the job.
func (o *rehearseOptions) validate(flags *pflag.FlagSet) error {
	if err := o.output.validate(); err != nil {
		return err
	}
	for _, name := range o.ways {
		isNamed := func(w v1alpha1.RehearsalWay) bool { return strings.EqualFold(string(w), name) }
		at := slices.IndexFunc(knownWays, isNamed)
		if at < 0 {
			return fmt.Errorf("--ways: unknown way %q: give Kill, Ask, Term or KillInSave", name)
		}
		o.rehearsalOptions.ways = append(o.rehearsalOptions.ways, knownWays[at])
	}
	switch {
	case len(o.ways) > maxWays:
		return fmt.Errorf("--ways has %d ways, more than %d", len(o.ways), maxWays)
	case flags.Changed("ranks") && o.ranks < 1:
		return fmt.Errorf("--ranks %d: give 1 or more", o.ranks)
	case o.timeout < 5*time.Minute || o.timeout > 24*time.Hour || o.timeout%time.Second != 0:
		return fmt.Errorf("--timeout %s: give whole seconds from 5m to 24h", o.timeout)
	case o.dryRun && (o.replace || o.remove):
		return errors.New("--dry-run creates and deletes nothing: leave out --replace and --delete")
	}
	if !flags.Changed("timeout") {
		o.timeout = 0 // the operator's default
	}
	return nil
}

func (o *rehearseOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.validate(cmd.Flags()); err != nil {
		return err
	}
	ctx := cmd.Context()
	job, c, err := o.source(ctx, cmd, args)
	if err != nil {
		return err
	}
	rehearsal, err := Rehearsal(job, o.rehearsalOptions)
	if err != nil {
		return codedError{exitError, err}
	}
	if o.dryRun {
		form := o.format
		if form == "" {
			form = "yaml"
		}
		return printObjects(o.out, []runtime.Object{rehearsal}, form)
	}
	if o.file != "" {
		if c, err = o.connect(o.streams); err != nil {
			return err
		}
	}
	c.namespace = rehearsal.Namespace
	if err := o.create(ctx, c, rehearsal); err != nil {
		return err
	}
	return o.follow(ctx, c, job, rehearsal.Name)
}

// source returns the job to rehearse. A job of a file is in the file's namespace, else in that of the flags.
func (o *rehearseOptions) source(
	ctx context.Context, cmd *cobra.Command, args []string,
) (*v1alpha1.TrainingJob, connected, error) {
	if o.file == "" {
		argument, err := oneJob(cmd, args)
		if err != nil {
			return nil, connected{}, fmt.Errorf("%w, or a file with -f", err)
		}
		c, err := o.connectFor(argument, o.streams)
		if err != nil {
			return nil, c, err
		}
		job, err := c.job(ctx, argument.name)
		return job, c, err
	}
	if len(args) > 0 {
		return nil, connected{}, errors.New("give a job or a file, not both")
	}
	job, err := readJob(o.file, o.in)
	if err != nil {
		return nil, connected{}, codedError{exitError, err}
	}
	given := *o.flags.Namespace
	switch {
	case given != "" && job.Namespace != "" && given != job.Namespace:
		return nil, connected{}, fmt.Errorf("the file's job is in namespace %s, not in %s: leave out -n",
			job.Namespace, given)
	case job.Namespace == "" && o.dryRun:
		job.Namespace = given
	case job.Namespace == "":
		if job.Namespace, _, err = o.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, connected{}, codedError{exitError, fmt.Errorf("reading the kubeconfig: %w", err)}
		}
	}
	return job, connected{}, nil
}

// create the rehearsal. With --replace it deletes one that has ended first.
func (o *rehearseOptions) create(ctx context.Context, c connected, job *v1alpha1.TrainingJob) error {
	strict := client.WithFieldValidation(c.WithWatch, metav1.FieldValidationStrict)
	err := strict.Create(ctx, job.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		if err := o.removeEarlier(ctx, c, job); err != nil {
			return err
		}
		err = strict.Create(ctx, job.DeepCopy())
	}
	if err != nil {
		return failed(err, "create", c.namespace)
	}
	printLines(o.err, fmt.Sprintf("Created trainingjob %s/%s. The trainer's real code runs with its real "+
		"credentials, and gets TRAININGJOB_REHEARSAL=1.", job.Namespace, job.Name))
	return nil
}

// How long a deleted rehearsal can take to disappear, with its pods.
const (
	goneWithin = 2 * time.Minute
	goneEvery  = 500 * time.Millisecond
)

// removeEarlier deletes the job that has the name of the rehearsal, if it is an ended rehearsal of the same
// job, and if the user wants that.
func (o *rehearseOptions) removeEarlier(ctx context.Context, c connected, job *v1alpha1.TrainingJob) error {
	old, err := c.job(ctx, job.Name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil // it was deleted meanwhile
		}
		return err
	}
	of := job.Labels[v1alpha1.LabelRehearsalOf]
	command := fmt.Sprintf("kubectl delete trainingjob %s -n %s", old.Name, old.Namespace)
	switch {
	case old.Spec.Rehearsal == nil || old.Labels[v1alpha1.LabelRehearsalOf] != of:
		return codedError{exitError, fmt.Errorf(
			"job %s exists, and is no rehearsal of %s: delete it, or "+
				"rename %[2]s", old.Name, of)}
	case !old.Status.Phase.Finished():
		return codedError{exitError, fmt.Errorf("%s runs already. Follow it:\n    kubectl tj explain %[1]s -n %s "+
			"--watch\nOr stop it:\n    %s", old.Name, old.Namespace, command)}
	case !o.replace:
		return codedError{exitError, fmt.Errorf("an earlier rehearsal exists. See its result:\n    kubectl tj "+
			"explain %s -n %s\nTo rehearse again, add --replace, or delete it:\n    %s", old.Name, old.Namespace,
			command)}
	}
	if err := c.remove(ctx, old); err != nil {
		return err
	}
	return c.gone(ctx, old.Name)
}

// remove deletes one job, not a later one of the same name. The job disappears after its pods.
func (c connected) remove(ctx context.Context, job *v1alpha1.TrainingJob) error {
	err := c.Delete(ctx, job, client.Preconditions{UID: &job.UID},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	if err != nil && !apierrors.IsNotFound(err) {
		return failed(err, "delete", c.namespace)
	}
	return nil
}

// follow prints what the rehearsal does to stderr, and at its end the checks.
func (o *rehearseOptions) follow(
	ctx context.Context, c connected, of *v1alpha1.TrainingJob, name string,
) error {
	var last *v1alpha1.TrainingJob
	printed := ""
	w := jobWatch{client: c, name: name, seen: func(job *v1alpha1.TrainingJob) error {
		last = job
		if job.Status.Phase.Finished() {
			return nil // finish prints it
		}
		if line := playedText(explain.Of(job, o.now.Now().UTC())); line != printed {
			printed = line
			printLines(o.err, ago(job.CreationTimestamp.Time, o.now.Now())+": "+line)
		}
		return nil
	}}
	deleted, err := w.run(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(o.err, "The rehearsal continues. Follow it:\n    kubectl tj explain %s -n %s --watch\n"+
			"Stop and delete it:\n    kubectl delete trainingjob %[1]s -n %s\n", name, c.namespace)
		return codedError{code: exitRehearsalIncomplete}
	case err != nil:
		return err
	case deleted:
		return codedError{exitRehearsalIncomplete, fmt.Errorf("%s/%s was deleted before its end", c.namespace,
			name)}
	}
	return o.finish(ctx, c, of, last)
}

// finish prints the result, and returns its exit code.
func (o *rehearseOptions) finish(ctx context.Context, c connected, of, job *v1alpha1.TrainingJob) error {
	now := o.now.Now().UTC()
	e := explain.Of(job, now)
	if err := o.print(o.out, e, verdictText(of, job, e, now)); err != nil {
		return err
	}
	if o.remove {
		if err := c.remove(ctx, job); err != nil {
			return err
		}
	}
	switch e.Rehearsal.Result {
	case v1alpha1.RehearsalResultPassed:
		return nil
	case v1alpha1.RehearsalResultFailed:
		return codedError{code: exitRehearsalFailed}
	}
	return codedError{code: exitRehearsalIncomplete}
}
