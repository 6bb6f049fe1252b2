package main

import (
	"fmt"
	"io"
	"time"
)

// pluginArchive is the name of the archive of a platform.
func pluginArchive(version string, on platform) string {
	suffix := ".tar.gz"
	if on.os == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s-%s-%s%s", plugin.binary(), version, on, suffix)
}

// writePlugin writes the plugin for a platform, with the licence, which krew demands.
func writePlugin(d *dist, version string, b binary, licenseText []byte, modified time.Time) error {
	entries := []entry{{"LICENSE", 0o644, licenseText}, {b.name(), 0o755, b.content}}
	return d.create(pluginArchive(version, b.platform), func(w io.Writer) error {
		if b.platform.os == "windows" {
			return writeZip(w, entries, modified)
		}
		return writeTarGz(w, entries, modified)
	})
}
