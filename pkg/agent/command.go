package agent

import (
	"errors"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// writeCommand hands a command to the trainer.
func writeCommand(path string, c checkpoint.Command) error {
	if path == "" {
		return errors.New("the trainer has no command file: set $" + checkpoint.EnvCommandFile)
	}
	data, err := checkpoint.Encode(c)
	if err != nil {
		return err
	}
	return writeFileAtomically(path, data)
}
