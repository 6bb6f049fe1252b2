package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

// binaryOptions say what is benchmarked, and where the results go.
type binaryOptions struct{ operator, crds, out string }

func (o *binaryOptions) addFlags(flags *pflag.FlagSet, out string) {
	flags.StringVar(&o.operator, "operator", "bin/operator", "the operator's binary")
	flags.StringVar(&o.crds, "crds", "deploy/crd", "folder of CRDs")
	flags.StringVar(&o.out, "out", out, "folder for the report")
}

// paths are absolute. The operator and the CRDs exist.
func (o *binaryOptions) paths() (operator, crds, out string, err error) {
	for to, path := range map[*string]string{&operator: o.operator, &crds: o.crds, &out: o.out} {
		if *to, err = filepath.Abs(path); err != nil {
			return "", "", "", err
		}
	}
	for _, needed := range []string{operator, crds} {
		if _, err := os.Stat(needed); err != nil {
			return "", "", "", fmt.Errorf("%w: run `make build` at the root of the repository, and start from there",
				err)
		}
	}
	return operator, crds, out, nil
}
