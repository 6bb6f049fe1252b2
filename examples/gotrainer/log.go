package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
)

// line of the log: one for each step and each checkpoint, one before and one after them.
type line struct {
	Attempt int    `json:"attempt"`
	Event   string `json:"event"`
	Step    int64  `json:"step"`
	Resumed string `json:"resumed,omitempty"`
	Loss    string `json:"loss,omitempty"`
	Weights string `json:"weights,omitempty"`
	Why     string `json:"why,omitempty"`
}

// eventLog writes lines to out and appends them to a file, unless its name is empty. All ranks but 0 are
// silent.
type eventLog struct {
	out     io.Writer
	file    string
	attempt int
	silent  bool
}

func (e eventLog) write(l line) error {
	if e.silent {
		return nil
	}
	l.Attempt = e.attempt
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := e.out.Write(text); err != nil || e.file == "" {
		return err
	}
	f, err := os.OpenFile(e.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
