// Command operator runs the TrainingJob operator: flags → configuration → backends → manager.
//
// It is the only program that knows the concrete schedulers. Everything below it speaks to
// scheduler.Backend.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/memorylimit"
)

// memoryVariable is the container's memory limit in bytes; deploy/operator/deployment.yaml sets it.
const memoryVariable = "OPERATOR_MEMORY_LIMIT"

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

// arguments of the command line.
type arguments struct {
	config                 string
	showVersion, onlyCheck bool
	logging                zap.Options
}

func parseArguments(args []string) (arguments, error) {
	a, flags := arguments{}, flag.NewFlagSet("operator", flag.ExitOnError)
	flags.StringVar(&a.config, "config", "", "path of the OperatorConfiguration; without it the defaults hold")
	flags.BoolVar(&a.showVersion, "version", false, "print the version and exit")
	flags.BoolVar(&a.onlyCheck, "check", false,
		"run nothing: find out whether an operator with this configuration leads, within a minute, and exit")
	clientconfig.RegisterFlags(flags)
	a.logging.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		return a, err
	}
	if flags.NArg() > 0 {
		return a, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	return a, nil
}

func run() error {
	args, err := parseArguments(os.Args[1:])
	if err != nil {
		return err
	}
	if args.showVersion {
		fmt.Println(version)
		return nil
	}
	logger := zap.New(zap.UseFlagOptions(&args.logging))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // client-go logs with klog

	memorylimit.BoundHeadroom(os.Getenv)
	if err := memorylimit.Follow(memoryVariable, os.Getenv); err != nil {
		return err
	}
	cfg, err := config.Load(args.config)
	if err != nil {
		return err
	}
	rest, err := restConfig("operator/" + version)
	if err != nil {
		return err
	}
	ctx := signals.SetupSignalHandler()
	if args.onlyCheck {
		return check(ctx, rest, cfg, os.Stdout)
	}
	mgr, err := newManager(ctx, rest, cfg, newBackends(cfg.Schedulers))
	if err != nil {
		return err
	}
	ctrl.Log.Info("Starting", "version", version)
	// The process must end once the lease is lost: another replica may already act on what is in flight here.
	return mgr.Start(ctx)
}
