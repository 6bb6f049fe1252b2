//go:build !linux

package main

import "errors"

func mountTiny(string) error { return errors.New("not on this system") }

func unmount(string) {}
