package agent

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// scanCommand is the subcommand that the agent runs itself with. It is no part of its interface.
const scanCommand = "scan-for-agent"

const (
	// scanMemory is where the child's collector begins to work hard.
	scanMemory = 48 << 20
	// scanAddressSpace is how much the child may grow after its start. Go's heap grows by arenas of 64 MiB,
	// whose place in the address space is a matter of luck: of 160 MiB the heap gets 100 or more. The largest
	// volume that checkpoint.Scan reads, 200,000 files in one directory, takes about half of that. It is enough
	// for a static binary only: with C's library each thread reserves 72 MiB of it.
	scanAddressSpace = 160 << 20
)

// scanChild looks at a volume and prints a scanAnswer.
func scanChild(args []string, stdout, stderr io.Writer) int {
	var r scanRequest
	f := flag.NewFlagSet("agent "+scanCommand, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&r.base, "base", "", "directory to open")
	f.StringVar(&r.dir, "dir", ".", "path below it to scan")
	f.StringVar(&r.jobUID, "job-uid", "", "the job's UID")
	f.BoolVar(&r.resolve, "resolve", false, "choose the newest complete checkpoint")
	f.Func("select", "what may be chosen, in JSON", func(text string) error {
		return json.Unmarshal([]byte(text), &r.selection)
	})
	f.BoolVar(&r.sums, "sums", false, "compare its SHA-256")
	if err := f.Parse(args); err != nil {
		return 2
	}
	debug.SetMemoryLimit(scanMemory)
	if err := limitMemory(scanAddressSpace); err != nil {
		fmt.Fprintln(stderr, "limiting the memory:", err)
		return 1
	}
	// The agent ends a child that is late. This is for a child whose agent is gone.
	time.AfterFunc(searchTimeout+time.Minute, func() { os.Exit(1) })
	answer, err := scanHere(r)
	if err != nil {
		answer.Error, answer.NotExist = checkpoint.Printable(err.Error(), 400), errors.Is(err, fs.ErrNotExist)
	}
	if err := json.NewEncoder(stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}

func scanHere(r scanRequest) (scanAnswer, error) {
	v, err := openVolume(r.base)
	if err != nil {
		return scanAnswer{}, err
	}
	defer v.Close()
	opts := checkpoint.Options{JobUID: r.jobUID, Sums: r.sums, Selection: r.selection}
	if !r.resolve {
		found, err := checkpoint.Scan(v, r.dir, opts)
		return scanAnswer{Found: found}, err
	}
	c, err := checkpoint.Resolve(v, r.dir, opts, nil)
	c.PassedOver = c.PassedOver[:min(len(c.PassedOver), maxPassedOver)]
	return scanAnswer{Choice: &c}, err
}
