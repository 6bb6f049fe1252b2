package tfjob_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

func TestValidate(t *testing.T) {
	runtime := tfjob.Runtime{Name: "a", Image: "i"}
	mount := tfjob.Mount{Path: "/clever", Claim: "files"}
	with := func(change func(*tfjob.Config)) tfjob.Config {
		c := tfjob.Default()
		c.Runtimes = []tfjob.Runtime{runtime}
		c.Partitions = []tfjob.Partition{{Name: "clever", Mounts: []tfjob.Mount{mount}}, {Name: "*"}}
		change(&c)
		return c
	}
	ofRuntime := func(change func(*tfjob.Runtime)) tfjob.Config {
		return with(func(c *tfjob.Config) { change(&c.Runtimes[0]) })
	}
	ofMount := func(change func(*tfjob.Mount)) tfjob.Config {
		return with(func(c *tfjob.Config) { change(&c.Partitions[0].Mounts[0]) })
	}
	runtimeField := func(name string) []string { return []string{"runtimes[0]." + name} }
	mountField := func(name string) []string { return []string{"partitions[0].mounts[0]." + name} }
	cases := map[string]struct {
		config tfjob.Config
		fields []string
	}{
		"default":  {tfjob.Default(), nil},
		"complete": {with(func(*tfjob.Config) {}), nil},
		"a runtime without a name": {
			ofRuntime(func(r *tfjob.Runtime) { r.Name = " _" }), runtimeField("name"),
		},
		"a runtime's long name": {
			ofRuntime(func(r *tfjob.Runtime) { r.Name = strings.Repeat("a", 254) }), runtimeField("name"),
		},
		"the same runtime": {
			with(func(c *tfjob.Config) { c.Runtimes = append(c.Runtimes, tfjob.Runtime{Name: "_A ", Image: "i"}) }),
			[]string{"runtimes[1].name"},
		},
		"no image": {ofRuntime(func(r *tfjob.Runtime) { r.Image = "" }), runtimeField("image")},
		"image": {
			ofRuntime(func(r *tfjob.Runtime) { r.GPUImage = "a b" }), runtimeField("gpuImage"),
		},
		"framework": {
			ofRuntime(func(r *tfjob.Runtime) { r.Framework = "caffe" }), runtimeField("framework"),
		},
		"version": {
			ofRuntime(func(r *tfjob.Runtime) { r.FrameworkVersion = "2" }), runtimeField("frameworkVersion"),
		},
		"command": {
			ofRuntime(func(r *tfjob.Runtime) { r.Command = []string{""} }), runtimeField("command"),
		},
		"GPU": {
			ofRuntime(func(r *tfjob.Runtime) { r.GPUResource = "cpu" }), runtimeField("gpuResource"),
		},
		"another GPU": {ofRuntime(func(r *tfjob.Runtime) { r.GPUResource = "amd.com/gpu" }), nil},
		"directory": {
			ofRuntime(func(r *tfjob.Runtime) { r.ImageDirs = []string{"/a", "b"} }), runtimeField("imageDirs[1]"),
		},
		"partition": {
			with(func(c *tfjob.Config) { c.Partitions[0].Name = "A" }), []string{"partitions[0].name"},
		},
		"twice": {
			with(func(c *tfjob.Config) { c.Partitions[0].Name = "*" }), []string{"partitions[1].name"},
		},
		"queue": {
			with(func(c *tfjob.Config) { c.Partitions[0].Queue = "A" }), []string{"partitions[0].queue"},
		},
		"root":      {ofMount(func(m *tfjob.Mount) { m.Path = "/" }), mountField("path")},
		"relative":  {ofMount(func(m *tfjob.Mount) { m.Path = "clever" }), mountField("path")},
		"traversal": {ofMount(func(m *tfjob.Mount) { m.Path = "/a/../b" }), mountField("path")},
		"operator's": {
			ofMount(func(m *tfjob.Mount) { m.Path = "/trainingjob/x" }), mountField("path"),
		},
		"checkpoints":  {ofMount(func(m *tfjob.Mount) { m.Path = "/checkpoints" }), mountField("path")},
		"claim":        {ofMount(func(m *tfjob.Mount) { m.Claim = "" }), mountField("claim")},
		"subPath":      {ofMount(func(m *tfjob.Mount) { m.SubPath = "../a" }), mountField("subPath")},
		"good subPath": {ofMount(func(m *tfjob.Mount) { m.SubPath = "..a/b" }), nil},
		"mount twice": {
			with(func(c *tfjob.Config) { c.Partitions[0].Mounts = []tfjob.Mount{mount, mount} }),
			[]string{"partitions[0].mounts[1].path"},
		},
		"maximums": {
			with(func(c *tfjob.Config) { c.Maximums = tfjob.Maximums{GPUs: -1} }),
			[]string{"maximums.replicas", "maximums.gpus", "maximums.listItems"},
		},
		"too many": {
			with(func(c *tfjob.Config) {
				c.Maximums = tfjob.Maximums{Replicas: 10001, GPUs: 10000001, ListItems: 5001}
			}), []string{"maximums.replicas", "maximums.gpus", "maximums.listItems"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range c.config.Validate(nil) {
				got = append(got, err.Field)
			}
			if !slices.Equal(got, c.fields) {
				t.Errorf("got %v, want %v", c.config.Validate(nil), c.fields)
			}
		})
	}
	many := tfjob.Default()
	many.Runtimes = make([]tfjob.Runtime, 1001)
	many.Partitions = make([]tfjob.Partition, 10001)
	many.Partitions[0].Mounts = make([]tfjob.Mount, 101)
	var bounds field.ErrorList
	for _, err := range many.Validate(nil) {
		if err.Type == field.ErrorTypeTooMany {
			bounds = append(bounds, err)
		}
	}
	if len(bounds) != 3 {
		t.Errorf("bounds: %v", bounds)
	}
}
