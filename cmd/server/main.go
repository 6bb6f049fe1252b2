// Command server keeps the history of TrainingJobs and serves it: flags → configuration → database → clusters
// → recorders and handlers.
//
// Only this program imports all packages below pkg/server. Its only state is the database: any
// number of replicas can do the same work, and repeating it changes nothing.
//
//	main.go      flags
//	run.go       what runs, and in which order it ends
//	clusters.go  the clusters of the configuration, their caches and clients
//	routes.go    what the REST API serves; board.go the web pages
//	servers.go   listeners: the API, the probes, the metrics
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

	"mlplatform.example.com/trainingjob-operator/pkg/memorylimit"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// memoryVariable is the container's memory limit in bytes; deploy/server/deployment.yaml sets it.
const memoryVariable = "SERVER_MEMORY_LIMIT"

// version is set by the linker.
var version = "dev"

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// arguments of the command line.
type arguments struct {
	config      string
	showVersion bool
	logging     zap.Options
}

func parseArguments(args []string) (arguments, error) {
	a, flags := arguments{}, flag.NewFlagSet("server", flag.ExitOnError)
	flags.StringVar(&a.config, "config", "", "path of the ServerConfiguration; default values without it")
	flags.BoolVar(&a.showVersion, "version", false, "print the version and exit")
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

func start(list []string) error {
	args, err := parseArguments(list)
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
	if err := memorylimit.Follow(memoryVariable, os.Getenv); err != nil {
		return err
	}
	cfg, err := config.Load(args.config)
	if err != nil {
		return err
	}
	return run(signals.SetupSignalHandler(), cfg)
}
