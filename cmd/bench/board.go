package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/board"
)

func newBoard() *cobra.Command {
	o := board.Options{Size: board.FullSize, Loads: board.Loads()}
	only := ""
	cmd := &cobra.Command{
		Use: "board", Short: "Measure the board's pages in a browser while jobs change",
		Long: `Board shows the pages of a cluster with 1,000 jobs and 10,000 ranks in a headless Chromium
(Debian's, which test/e2e/install.sh installs), changes jobs, and measures the bytes, DOM changes and CPU time
of each update. It compares them with an unchanged page and with a page that reloads.`,
		Example: `  bench board
  bench board --page map --updates 60`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			others := func(p board.Page) bool { return !strings.Contains(p.Name, only) }
			o.Pages = slices.DeleteFunc(board.Pages(), others)
			if len(o.Pages) == 0 || o.Updates < 1 {
				return fmt.Errorf("--page %q, --updates %d: give a part of a page's name, and at least 1", only,
					o.Updates)
			}
			o.Progress = cmd.ErrOrStderr()
			results, err := board.Run(cmd.Context(), o)
			return errors.Join(board.Print(cmd.OutOrStdout(), results), err)
		},
	}
	cmd.Flags().IntVar(&o.Updates, "updates", 20, "updates of each page under each load, one a second")
	cmd.Flags().StringVar(&only, "page", "", "part of the names of the pages that are measured (default: all)")
	return cmd
}
