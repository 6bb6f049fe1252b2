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
)

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run() error {
	flags := flag.NewFlagSet("operator", flag.ExitOnError)
	path := flags.String("config", "", "path of the OperatorConfiguration; without it the defaults hold")
	showVersion := flags.Bool("version", false, "print the version and exit")
	clientconfig.RegisterFlags(flags)
	logging := zap.Options{}
	logging.BindFlags(flags)
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if *showVersion {
		fmt.Println(version)
		return nil
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	logger := zap.New(zap.UseFlagOptions(&logging))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // client-go logs with klog

	if err := limitMemory(os.Getenv); err != nil {
		return err
	}
	cfg, err := config.Load(*path)
	if err != nil {
		return err
	}
	rest, err := restConfig("operator/" + version)
	if err != nil {
		return err
	}
	ctx := signals.SetupSignalHandler()
	mgr, err := newManager(ctx, rest, cfg, backends(cfg.Schedulers))
	if err != nil {
		return err
	}
	ctrl.Log.Info("Starting", "version", version)
	// The process must end once the lease is lost: another replica may already act on what is in flight here.
	return mgr.Start(ctx)
}
