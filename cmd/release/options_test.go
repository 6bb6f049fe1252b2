package main

import (
	"strings"
	"testing"
)

func valid() options {
	return options{
		version: "v0.2.0", registry: "registry.example.com/team", out: "dist",
		url: "https://downloads.example.com/v0.2.0", architectures: imageArchitectures,
	}
}

// TestOptions: errors have a cause and a remedy.
func TestOptions(t *testing.T) {
	tests := map[string]struct {
		edit        func(*options)
		images, all string // part of the message; "" for none
	}{
		"a release": {edit: func(*options) {}},
		"a release candidate": {
			edit: func(o *options) { o.version = "v1.0.0-rc.1" },
		},
		"a registry with a port": {
			edit: func(o *options) { o.registry = "localhost:5000" },
		},
		"what git describes": {edit: func(o *options) { o.version = "3c9d66c-dirty" }, all: "VERSION=v0.2.0"},
		"no version": {
			edit: func(o *options) { o.version = "" }, images: "set VERSION", all: "VERSION=v0.2.0",
		},
		"no version of Python": {edit: func(o *options) { o.version = "v0.2.0-next" }, all: "v0.2.0-beta.1"},
		"no v":                 {edit: func(o *options) { o.version = "0.2.0" }, all: "VERSION=v0.2.0"},
		"two numbers":          {edit: func(o *options) { o.version = "v0.2" }, all: "three numbers"},
		"leading zero":         {edit: func(o *options) { o.version = "v0.02.0" }, all: "VERSION=v0.2.0"},
		"build metadata": {
			edit: func(o *options) { o.version = "v0.2.0+1" }, images: "image's tag", all: "VERSION=v0.2.0",
		},
		"no registry": {
			edit: func(o *options) { o.registry = "" }, images: "REGISTRY=registry", all: "REGISTRY=registry",
		},
		"a registry's URL": {
			edit:   func(o *options) { o.registry = "https://registry.example.com" },
			images: "REGISTRY=registry", all: "REGISTRY=registry",
		},
		"a path without host": {
			edit: func(o *options) { o.registry = "team" }, images: "REGISTRY=registry", all: "REGISTRY=registry",
		},
		"no folder": {edit: func(o *options) { o.out = "" }, images: "--out", all: "--out"},
		"no URL":    {edit: func(o *options) { o.url = "" }, all: "RELEASE_URL=https"},
		"another architecture": {
			edit:   func(o *options) { o.architectures = []string{"amd64", "s390x"} },
			images: `"s390x": --arch takes some of amd64, arm64`, all: "s390x",
		},
		"no architecture": {
			edit: func(o *options) { o.architectures = nil }, images: "--arch takes", all: "--arch takes",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := valid()
			test.edit(&o)
			check(t, "images", test.images, o.validate())
			check(t, "all", test.all, o.validateRelease())
		})
	}
}

func check(t *testing.T, what, want string, err error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: error %v, want one with %q", what, err, want)
	}
}
