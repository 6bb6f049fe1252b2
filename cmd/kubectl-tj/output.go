package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// output is the format of a command: text, or JSON and YAML as the server returns them.
type output struct{ format string }

func (o *output) addFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&o.format, "output", "o", "",
		"json or yaml, in the shape of the server's REST API; default: text")
}

func (o *output) validate() error {
	switch o.format {
	case "", "json", "yaml":
		return nil
	}
	return fmt.Errorf("unknown output %q: use -o json or -o yaml, or none for text", o.format)
}

func (o *output) text() bool { return o.format == "" }

// print writes the value in its format, or the text.
func (o *output) print(w io.Writer, value any, text string) error {
	data := []byte(text)
	var err error
	switch o.format {
	case "json":
		data, err = json.MarshalIndent(value, "", "    ")
		data = append(data, '\n')
	case "yaml":
		data, err = yaml.Marshal(value)
	}
	if err != nil {
		return codedError{exitError, fmt.Errorf("encoding: %w", err)}
	}
	if _, err := w.Write(data); err != nil {
		return codedError{exitError, fmt.Errorf("printing: %w", err)}
	}
	return nil
}
