package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"
)

// options of a release.
type options struct {
	version       string
	registry      string // with the prefix of the repositories
	out           string
	url           string // where the files of out can be downloaded from; krew wants to know
	helm          string // the program that packages the chart
	architectures []string
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.version, "version", "", "version, such as v0.2.0")
	flags.StringVar(&o.registry, "registry", "", "where the images will be, such as registry.example.com/team")
	flags.StringVar(&o.out, "out", "", "the folder to fill")
	flags.StringVar(&o.url, "url", "", "where the files of the folder will be, for krew")
	flags.StringVar(&o.helm, "helm", "", "path of Helm, which packages the chart")
	flags.StringSliceVar(&o.architectures, "arch", imageArchitectures, "architectures of the images")
}

// validate what images need: the version need not be a release's, but is a tag.
func (o options) validate() error {
	if o.out == "" {
		return errors.New("--out is missing: name the folder to fill")
	}
	_, err := name.NewRepository(o.registry+"/"+operatorImage, name.StrictValidation)
	if err == nil && strings.Contains(o.registry, "://") {
		err = errors.New("it has a scheme") // a host https: to the parser
	}
	if err != nil {
		return fmt.Errorf("the registry %q is none (%w): give a host with an optional path, as in "+
			"REGISTRY=registry.example.com/team", o.registry, err)
	}
	if _, err := name.NewTag(o.imageName(operatorImage), name.StrictValidation); err != nil {
		return fmt.Errorf("the version %q cannot be an image's tag: set VERSION, as in VERSION=v0.2.0", o.version)
	}
	if len(o.architectures) == 0 {
		return fmt.Errorf("no architecture is given: --arch takes some of %s",
			strings.Join(imageArchitectures, ", "))
	}
	for _, a := range o.architectures {
		if !slices.Contains(imageArchitectures, a) {
			return fmt.Errorf("images have no architecture %q: --arch takes some of %s", a,
				strings.Join(imageArchitectures, ", "))
		}
	}
	return nil
}

// validateChart besides: semantic versions with v. Canonical ones have three numbers and no build
// metadata, whose + no tag may have.
func (o options) validateChart() error {
	if semver.Canonical(o.version) != o.version || o.version == "" {
		return fmt.Errorf("the version %q is no semantic version with v and three numbers: "+
			"make release VERSION=v0.2.0, or v0.2.0-rc.1 before a release", o.version)
	}
	return o.validate()
}

// validateRelease besides: krew's URL, and a version that Python has too.
func (o options) validateRelease() error {
	if err := o.validateChart(); err != nil {
		return err
	}
	if _, err := pythonVersion(o.version); err != nil {
		return err
	}
	if u, err := url.Parse(o.url); err != nil || u.Host == "" {
		return fmt.Errorf("the URL %q of the files is none: say where krew is to download them from, as in "+
			"RELEASE_URL=https://downloads.example.com/%s", o.url, o.version)
	}
	return nil
}
