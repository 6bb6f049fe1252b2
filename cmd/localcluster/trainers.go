package main

import (
	"fmt"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
)

// trainersCommand is a process of the cluster: up and demo start it.
func trainersCommand() *cobra.Command {
	options, kubeconfig := simtrainer.Options{}, ""
	cmd := &cobra.Command{
		Use:    "trainers",
		Short:  "Play the simulated trainers of a cluster (up starts it)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Log = funcr.New(func(prefix, args string) {
				fmt.Fprintln(cmd.ErrOrStderr(), prefix, args)
			}, funcr.Options{LogTimestamp: true})
			ctrl.SetLogger(options.Log)
			klog.SetLogger(options.Log)
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("reading the kubeconfig: %w", err)
			}
			config.QPS = -1 // it plays many kubelets
			return simtrainer.Run(cmd.Context(), config, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "the cluster's kubeconfig")
	flags.StringVar(&options.StateFile, "volume", "", "file that holds what the trainers save")
	flags.StringVar(&options.HealthAddress, "health-address", "", "host:port that answers /healthz; empty: none")
	for _, name := range []string{"kubeconfig", "volume"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // only when there is no such flag
		}
	}
	return cmd
}
