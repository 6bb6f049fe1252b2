package mlflow

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// maxCredential bounds a file with a token or a password, in bytes.
const maxCredential = 64 << 10

// credentials are files that can be replaced at any time: they are read for every request.
type credentials struct{ tokenFile, basicAuthDir string }

// authorize adds the credentials to a request. Errors do not contain the files' contents.
func (c credentials) authorize(r *http.Request) error {
	switch {
	case c.tokenFile != "":
		token, err := readCredential(c.tokenFile)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	case c.basicAuthDir != "":
		username, err := readCredential(filepath.Join(c.basicAuthDir, "username"))
		if err != nil {
			return err
		}
		password, err := readCredential(filepath.Join(c.basicAuthDir, "password"))
		if err != nil {
			return err
		}
		r.SetBasicAuth(username, password)
	}
	return nil
}

func readCredential(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the credentials: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxCredential+1))
	if err != nil {
		return "", fmt.Errorf("reading the credentials: %w", err)
	}
	text := strings.TrimSpace(string(data))
	switch {
	case len(data) > maxCredential:
		return "", fmt.Errorf("reading the credentials: %s has more than 64 KiB", path)
	case text == "":
		return "", fmt.Errorf("reading the credentials: %s is empty", path)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", errors.New("reading the credentials: " + path + " has more than one line")
	}
	return text, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
