package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// State of a checkpoint on a volume.
type State string

const (
	// Complete: every file that its layout requires is there and whole.
	Complete State = "Complete"
	// Torn: a required file is missing or cut short. A checkpoint that is still being written looks the same.
	Torn State = "Torn"
	// Unknown: it cannot be determined, or it cannot be ordered among the others (see Found.Unordered).
	Unknown State = "Unknown"
)

// Found is a save, or the remains of one, as Scan found it.
type Found struct {
	// Path below the root of the scan, slash-separated as in fs.FS: the directory that carries the step, or
	// the checkpoint itself. Of siblings of one step it is the first by name. The nearest directory above
	// all of them holds other steps too, so its path would not tell which one to load.
	Path   string
	Layout Layout
	State  State
	// Parts of the save, by path, if it has parts below Path or beside it.
	Parts []Part `json:",omitempty"`
	// files of the save, by path, that other saves of the same program must have too. Only the scan uses them.
	files []string
	// Why it is not complete; at most 256 bytes.
	Why string
	// Step of the training, -1 if nothing tells it.
	Step int64
	// Attempt whose directory it lies in, 0 if none.
	Attempt int32
	// MissingPart: it is Torn because other saves have a part that it lacks.
	MissingPart bool `json:",omitempty"`
	// Unordered: every file is there and whole, but nothing tells its step, so it is Unknown. Nothing that is
	// Unordered is deleted or reported as committed. Choose names it only where nothing is Complete.
	Unordered bool
	// CommittedAt is when its newest file was last written, by the clock of the writer or of the file server.
	// It orders only what is Unordered, and keeps what was committed last from being deleted.
	CommittedAt time.Time
	// Bytes is the total size of its files.
	Bytes int64
	// WrongJob: its manifest names another job.
	WrongJob bool
}

// noStep is the step of a checkpoint that does not tell it.
const noStep = -1

// Newer reports whether a is to be resumed from rather than b, if both may be.
func Newer(a, b Found) bool { return newestFirst(a, b) < 0 }

// newestFirst orders by step, then by attempt, then by path. What tells no step comes last, and is ordered by
// attempt, then by the time of its commit.
func newestFirst(a, b Found) int {
	byTime := 0
	if a.Step < 0 && b.Step < 0 {
		byTime = b.CommittedAt.Compare(a.CommittedAt)
	}
	return cmp.Or(cmp.Compare(b.Step, a.Step), cmp.Compare(b.Attempt, a.Attempt), byTime,
		cmp.Compare(a.Path, b.Path))
}

// incompleteError says why a checkpoint is not complete. Its state is Torn or Unknown.
type incompleteError struct {
	state State
	why   string
}

func (e *incompleteError) Error() string { return e.why }

func torn(format string, args ...any) error {
	return &incompleteError{Torn, fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) error {
	return &incompleteError{Unknown, fmt.Sprintf(format, args...)}
}

// setState fills State and Why from the result of a check. Any other error than an incompleteError (a failing
// disk, a file that vanished during the scan) tells nothing about the checkpoint, so it makes it Unknown.
func (f *Found) setState(err error) {
	var incomplete *incompleteError
	switch {
	case err == nil:
		f.State = Complete
	case errors.As(err, &incomplete):
		f.State, f.Why = incomplete.state, err.Error()
	default:
		f.State, f.Why = Unknown, "reading it: "+err.Error()
	}
	f.Why = Printable(f.Why, 256)
}
