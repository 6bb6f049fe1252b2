package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// install copies this program to dir/agent, where a container without it can run it from a shared volume.
func install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	in, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("reading this program: %w", err)
	}
	defer in.Close()
	return writeAtomically(filepath.Join(dir, "agent"), 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
