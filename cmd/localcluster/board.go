package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/demo"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func boardCommand() *cobra.Command {
	var dir, binary string
	cmd := &cobra.Command{
		Use:   "board",
		Short: "Print a link that opens the board of a demo's cluster in a browser",
		Long: `Print a link that logs a browser of this machine in to the board of the cluster on
which a demo was played. The link works once, for ten minutes. The command restarts
the server; users who are logged in stay logged in.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the server's binary: %w", err)
			}
			cluster, err := localcluster.Open(dir)
			if errors.Is(err, localcluster.ErrNoCluster) {
				return fmt.Errorf("there is no cluster in %s; play a demo: %s", dir,
					localcluster.Command(dir, "demo"))
			}
			if err != nil {
				return err
			}
			binary = cmp.Or(binary, filepath.Join(filepath.Dir(self), "server"))
			link, err := demo.Board(cmd.Context(), cluster, binary)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"Open this in a browser of this machine; it logs in once:\n\n  %s\n", link)
			return err
		},
	}
	addDirFlag(cmd, &dir)
	cmd.Flags().StringVar(&binary, "server", "", "the server's binary (default: next to this one)")
	return cmd
}
