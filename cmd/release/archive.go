package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"time"
)

// entry of an archive. It belongs to root.
type entry struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// writeTarGz writes the entries in their order.
func writeTarGz(w io.Writer, entries []entry, modified time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		header := &tar.Header{
			Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.content)), ModTime: modified,
		}
		if err := tw.WriteHeader(header); err != nil {
			return err
		}
		if _, err := tw.Write(e.content); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}

// writeZip writes the entries in their order.
func writeZip(w io.Writer, entries []entry, modified time.Time) error {
	zw := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: modified.UTC()}
		header.SetMode(e.mode.Perm())
		file, err := zw.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return zw.Close()
}
