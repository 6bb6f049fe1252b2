package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestConvertReadsScripts: a script for sbatch is one document of a file.
func TestConvertReadsScripts(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH --job-name=bert --nodes=2\n#SBATCH --partition=gpu\nsrun torchrun " +
		"--nnodes=2 train.py\n"
	cases := map[string]struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string
	}{
		"script": {
			"a warning names the line", []string{"--image", "train:1", "-n", "team-b"}, 0,
			"- torchrun\n  - train.py\n",
			"warning: stdin: document 1 (Slurm script): line 3 --partition: gpu becomes the queue of the job",
		},
		"no image": {
			"the error names the flag", nil, exitError, "",
			"error: stdin: document 1 (Slurm script): the script names no container image: give one with --image",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"convert", "-f", "-"}, c.args...),
				streams{strings.NewReader(script), &out, &errs})
			if code != c.code || !strings.Contains(out.String(), c.stdout) || !strings.Contains(errs.String(),
				c.stderr) {
				t.Errorf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s", c.reason, code, c.code, &out, &errs)
			}
		})
	}
}
