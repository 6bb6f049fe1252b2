package agent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// resolveOptions of `agent resolve`. A flag overrides the environment, which overrides the default.
type resolveOptions struct {
	// volumes to search; only base and uri of a location are set.
	volumes []location
	jobUID  string
	attempt int32
	// sums: compare the SHA-256 of the files.
	sums bool
	// selection of the checkpoints that may be chosen.
	selection      checkpoint.Selection
	server         server
	terminationLog string
}

func parseResolve(args []string, env func(string) string, stderr io.Writer) (*resolveOptions, error) {
	o := &resolveOptions{}
	f := flag.NewFlagSet("agent resolve", flag.ContinueOnError)
	f.SetOutput(stderr)
	server := serverFlags(f, env)
	var volumes []string
	var attempt string
	f.Func("volume", "DIR or DIR=URI that holds the attempts' directories; may be given more than once; "+
		"default the directory above $"+checkpoint.EnvDir+" and $"+checkpoint.EnvURI,
		func(s string) error { volumes = append(volumes, s); return nil })
	f.StringVar(&o.jobUID, "job-uid", env(checkpoint.EnvJobUID),
		"the job's UID: manifests with another one are not ours")
	f.StringVar(&attempt, "attempt", env(checkpoint.EnvAttempt), "the attempt that asks")
	f.BoolVar(&o.sums, "sums", true,
		"compare the SHA-256 of the chosen checkpoint's files, where a manifest has them")
	o.selection.Flags(f)
	f.StringVar(&o.terminationLog, "termination-log", defaultTerminationLog,
		"where the result goes too; empty: nowhere")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	n, err := parseNumber("attempt", attempt, 1, 1, maxAttempt)
	if err != nil {
		return nil, err
	}
	o.attempt, o.server = int32(n), *server
	if o.volumes, err = parseVolumes(volumes, env); err != nil {
		return nil, err
	}
	return o, o.server.validate()
}

// parseVolumes reads DIR or DIR=URI of each volume. Without one, the environment names it.
func parseVolumes(texts []string, env func(string) string) ([]location, error) {
	if len(texts) == 0 && env(checkpoint.EnvDir) != "" {
		l, err := parseLocation(env(checkpoint.EnvDir), env(checkpoint.EnvURI))
		if err != nil {
			return nil, err
		}
		if l.objectStore {
			return nil, errors.New("the checkpoints are on an object store, which only the trainer can read")
		}
		return []location{l}, nil
	}
	var volumes []location
	for _, text := range texts {
		dir, uri, hasURI := strings.Cut(text, "=")
		volume := location{base: filepath.Clean(dir)}
		if hasURI {
			u, err := checkpoint.ParseURI(uri)
			if err != nil {
				return nil, err
			}
			volume.uri = &u
		}
		if !filepath.IsAbs(volume.base) {
			return nil, fmt.Errorf("volume is %q: give an absolute path", dir)
		}
		volumes = append(volumes, volume)
	}
	if len(volumes) == 0 {
		return nil, errors.New("no volume: give --volume DIR=URI")
	}
	return volumes, nil
}
