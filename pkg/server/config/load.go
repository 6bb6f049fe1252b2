package config

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Load reads a configuration file. An empty path means the defaults.
func Load(path string) (ServerConfiguration, error) {
	if path == "" {
		return Default(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ServerConfiguration{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return c, fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	return c, nil
}

// Parse reads a configuration over the defaults, and validates it. Unknown and repeated keys are errors.
func Parse(data []byte) (ServerConfiguration, error) {
	c := Default()
	c.APIVersion, c.Kind = "", "" // required, without default
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, err
	}
	return c, c.Validate().ToAggregate()
}
