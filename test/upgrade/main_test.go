package upgrade

import (
	"fmt"
	"os"
	"testing"
)

// workDir is a folder for what all tests share; it is removed after them.
var workDir string

func TestMain(m *testing.M) {
	var err error
	if workDir, err = os.MkdirTemp("", "upgrade-"); err != nil {
		fmt.Fprintln(os.Stderr, "making a folder:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(workDir); err != nil {
		fmt.Fprintln(os.Stderr, "removing the folder:", err)
		code = 1
	}
	os.Exit(code)
}
