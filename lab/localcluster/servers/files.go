package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// readTemplate reads a YAML file after every $(NAME) in it is replaced with the value of that name.
func readTemplate(path string, values map[string]string) (map[string]any, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for name, value := range values {
		content = bytes.ReplaceAll(content, []byte("$("+name+")"), []byte(value))
	}
	read := map[string]any{}
	if err := yaml.UnmarshalStrict(content, &read); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", path, err)
	}
	return read, nil
}

// writeConfiguration writes a program's configuration. name is the program, for errors.
func writeConfiguration(path, name string, configuration map[string]any) error {
	content, err := yaml.Marshal(configuration)
	if err != nil {
		return fmt.Errorf("encoding the configuration of %s: %w", name, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing the configuration of %s: %w", name, err)
	}
	return nil
}

// copyCertificate copies the serving certificate and its key to a folder, as tls.crt and tls.key: the names
// that webhook servers expect.
func (c Config) copyCertificate(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for from, to := range map[string]string{c.Files.ServerCert(): "tls.crt", c.Files.ServerKey(): "tls.key"} {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, to), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
