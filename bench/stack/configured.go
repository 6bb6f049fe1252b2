package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// Configuration of a scheduler that is compared with the default one.
type Configuration struct {
	// Name tells the stacks that have it from the others: "raw/volcano@name".
	Name string
	// Scheduler is one of localcluster's, File its configuration; an absolute path.
	Scheduler, File string
}

// configurationName is what may stand behind the @.
var configurationName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// ParseConfiguration reads "name=scheduler:file". The file must exist.
func ParseConfiguration(text string) (Configuration, error) {
	name, rest, ok := strings.Cut(text, "=")
	scheduler, file, separated := strings.Cut(rest, ":")
	if !ok || !separated {
		return Configuration{}, fmt.Errorf("%q is not of the form name=scheduler:file", text)
	}
	if !configurationName.MatchString(name) {
		return Configuration{}, fmt.Errorf("the name %q in %q has more than lower case letters, digits and dashes",
			name, text)
	}
	if !slices.Contains(schedulers.Names(), scheduler) {
		return Configuration{}, fmt.Errorf("%q in %q is no scheduler: take one of %s", scheduler, text,
			strings.Join(schedulers.Names(), ", "))
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return Configuration{}, err
	}
	if _, err := os.Stat(path); err != nil {
		return Configuration{}, fmt.Errorf("the configuration %s: %w", name, err)
	}
	return Configuration{Name: name, Scheduler: scheduler, File: path}, nil
}

// configured is another stack with a configuration of one's own for its scheduler. Its floor stays the raw
// stack with the configuration that ships.
type configured struct {
	Stack
	with Configuration
}

// WithConfigurations adds, for every stack on the scheduler of a configuration, the same with it.
func WithConfigurations(stacks []Stack, configurations []Configuration) ([]Stack, error) {
	all := slices.Clone(stacks)
	for i, c := range configurations {
		if slices.ContainsFunc(configurations[:i], func(other Configuration) bool { return other.Name == c.Name }) {
			return nil, fmt.Errorf("two configurations have the name %q", c.Name)
		}
		found := false
		for _, s := range stacks {
			var options localcluster.Options
			s.Cluster(&options)
			if slices.Contains(options.Schedulers, c.Scheduler) {
				all, found = append(all, configured{s, c}), true
			}
		}
		if !found {
			return nil, fmt.Errorf("the configuration %s is for %s, and no chosen stack runs on that",
				c.Name, c.Scheduler)
		}
	}
	return all, nil
}

func (c configured) Describe() result.Stack {
	d := c.Stack.Describe()
	d.Name += "@" + c.with.Name
	d.Configuration = c.with.Name
	d.Title += ", with " + filepath.Base(c.with.File)
	d.Settings = append(slices.DeleteFunc(d.Settings, func(s result.Setting) bool {
		return s.Name == settingConfiguration
	}), result.Setting{Program: c.with.Scheduler, Name: settingConfiguration, Value: filepath.Base(c.with.File)})
	return d
}

func (c configured) Cluster(options *localcluster.Options) {
	c.Stack.Cluster(options)
	if options.Configurations == nil {
		options.Configurations = map[string]string{}
	}
	options.Configurations[c.with.Scheduler] = c.with.File
}
