package checkpoint

// Size limits of the messages. Nothing larger is read.
const (
	MaxStatusBytes   = 64 << 10
	MaxCommandBytes  = 4 << 10
	MaxSettingsBytes = 4 << 10
	MaxManifestBytes = 4 << 20
	MaxReportBytes   = 64 << 10
	MaxAnswerBytes   = 4 << 10
	MaxBeatBytes     = 1 << 10
	MaxTraceBytes    = 288 << 10
	// MaxTerminationBytes is the kubelet's limit (kubernetes pkg/kubelet/container,
	// MaxPodTerminationMessageLogLength).
	MaxTerminationBytes = 4096
)

// ParseStatus reads a status file.
func ParseStatus(data []byte) (*Status, error) {
	return parse[Status]("status file", MaxStatusBytes, data)
}

// ParseCommand reads a command file.
func ParseCommand(data []byte) (*Command, error) {
	return parse[Command]("command file", MaxCommandBytes, data)
}

// ParseSettings reads a settings file.
func ParseSettings(data []byte) (*Settings, error) {
	return parse[Settings]("settings file", MaxSettingsBytes, data)
}

// ParseReport reads a report.
func ParseReport(data []byte) (*Report, error) {
	return parse[Report]("report", MaxReportBytes, data)
}

// ParseBeat reads a beat.
func ParseBeat(data []byte) (*Beat, error) { return parse[Beat]("beat", MaxBeatBytes, data) }

// ParseBeatAnswer reads the answer to a beat.
func ParseBeatAnswer(data []byte) (*BeatAnswer, error) {
	return parse[BeatAnswer]("answer to a beat", MaxAnswerBytes, data)
}

// ParseAnswer reads the answer to a report. Every command in it needs an id.
func ParseAnswer(data []byte) (*Answer, error) {
	a, err := parse[Answer]("answer", MaxAnswerBytes, data)
	if err == nil && a.Command != CommandNone && a.ID == "" {
		return nil, &FormatError{"answer", "id", "is missing", "give every command an id of its own"}
	}
	return a, err
}

// ParseTermination reads an agent's termination message.
func ParseTermination(data []byte) (*Termination, error) {
	return parse[Termination]("termination message", MaxTerminationBytes, data)
}

// ParseTrace reads a trace of a rehearsal.
func ParseTrace(data []byte) (*Trace, error) { return parse[Trace]("trace", MaxTraceBytes, data) }

// ParseManifest reads a manifest. It rejects one that names a file twice, or itself.
func ParseManifest(data []byte) (*Manifest, error) {
	m, err := parse[Manifest]("manifest", MaxManifestBytes, data)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if seen[f.Name] || f.Name == ManifestName {
			return nil, &FormatError{
				"manifest", "files", "names " + f.Name + " twice, or itself", "name every file of the checkpoint once",
			}
		}
		seen[f.Name] = true
	}
	return m, nil
}
