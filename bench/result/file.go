package result

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Save writes the results to a file, whole or not at all: a benchmark may be ended at any moment.
func (r *Results) Save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encoding results: %w", err)
	}
	return WriteWhole(path, append(text, '\n'))
}

// WriteWhole writes a file whole or not at all, and makes its folder.
func WriteWhole(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("making the folder for results: %w", err)
	}
	next := path + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return nil
}
