package agent

import (
	"log"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// settingsFile hands the trainer what may change while it runs.
type settingsFile struct {
	path    string
	state   *state
	log     *log.Logger
	written checkpoint.Settings
}

// take writes the settings of an answer. If the write fails, the next answer retries it.
func (f *settingsFile) take(a *checkpoint.Answer) {
	if a.Settings == nil {
		return
	}
	f.state.setRetain(int(a.RetainLast))
	if f.path == "" || *a.Settings == f.written {
		return
	}
	if err := writeSettings(f.path, *a.Settings); err != nil {
		if f.state.setProblem("settings file", err.Error()) {
			f.log.Print(err)
		}
		return
	}
	f.state.setProblem("settings file", "")
	f.written = *a.Settings
	f.log.Printf("set for the trainer: a checkpoint every %d s, of which %d are kept", f.written.IntervalSeconds,
		f.written.KeepLast)
}

func writeSettings(path string, s checkpoint.Settings) error {
	data, err := checkpoint.Encode(s)
	if err != nil {
		return err
	}
	return writeFileAtomically(path, data)
}
