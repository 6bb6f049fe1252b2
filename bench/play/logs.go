package play

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// KeepLogs copies the logs of a stack and of its cluster, whose folder is "cluster" below the stack's.
func KeepLogs(dir, to string) error {
	var files []string
	for _, pattern := range []string{"*.log", "cluster/logs/*.log"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	if err := os.MkdirAll(to, 0o750); err != nil {
		return fmt.Errorf("keeping logs: %w", err)
	}
	slices.Sort(files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("keeping logs: %w", err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), content, 0o600); err != nil {
			return fmt.Errorf("keeping logs: %w", err)
		}
	}
	return nil
}
