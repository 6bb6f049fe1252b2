//go:build !linux

package agent

import "errors"

func mountTmpfs(string) error { return errors.New("not on this system") }

func unmount(string) {}
