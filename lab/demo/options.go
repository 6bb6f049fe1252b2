package demo

import (
	"errors"
	"io"
	"os"
)

// ErrNotHeld is returned by Run when the story was played and did not hold.
var ErrNotHeld = errors.New("the story did not hold")

// Options say how the demo is played.
type Options struct {
	// Dir of the local cluster; one that is up is used as it is.
	Dir string
	// Modules is localcluster's option of that name.
	Modules string
	// Scheduler is volcano, native, coscheduling or kueue.
	Scheduler string
	// Operator is the path of the operator's binary.
	Operator string
	// Trainers is localcluster's option of that name.
	Trainers string
	// Down ends the operator after the story, and the cluster if the demo brought it up.
	Down bool
	// In and Out decide between the live table and lines; the story goes to Out, progress to Progress.
	In, Out  *os.File
	Progress io.Writer
}

// DefaultDir of the cluster, below the working directory.
const DefaultDir = ".localcluster"
