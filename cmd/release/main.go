// Command release makes what is shipped, from the working tree and without a container engine or a registry:
//
//	go run ./cmd/release images    --version v0.2.0 --registry registry.example.com --out bin/images
//	go run ./cmd/release manifests --version v0.2.0 --registry registry.example.com --out bin/images
//	go run ./cmd/release chart     --version v0.2.0 --registry registry.example.com --out bin/images --helm ...
//	go run ./cmd/release all       --version v0.2.0 --registry registry.example.com --out dist --url https://...
//
// It runs in the root of the module. The same commit, version, registry and Go give the same bytes: times are
// the commit's (or SOURCE_DATE_EPOCH), entries of archives are sorted, and builds see neither paths nor the
// user's settings.
//
//	programs ─▶ build ─▶ images ─────────┐
//	                 ├─▶ plugin, krew ───┼─▶ dist: the folder with its checksums
//	                 └─▶ sbom ───────────┤
//	deploy/ ──▶ manifest, chart ─────────┤
//	python/ ──▶ wheel ───────────────────┘
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "release",
		Short:         "Make images and releases from the working tree",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(
		command("images", "Images with their SBOMs", options.validate, (*release).images),
		command("manifests", "The manifests that install them", options.validate, (*release).manifests),
		command("chart", "The Helm chart that installs them", options.validateChart, (*release).chart),
		command("all", "A release: images, manifests, chart, plugin, wheel, SBOMs, checksums",
			options.validateRelease, (*release).all),
	)
	return cmd
}

// command checks its options, collects what the release is made of, and makes part of it.
func command(use, short string, validate func(options) error, write func(*release, context.Context) error,
) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validate(o); err != nil {
				return err
			}
			r, err := newRelease(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer r.close()
			if err := write(r, cmd.Context()); err != nil {
				return err
			}
			return r.dist.finish(cmd.OutOrStdout())
		},
	}
	o.addFlags(cmd)
	return cmd
}
