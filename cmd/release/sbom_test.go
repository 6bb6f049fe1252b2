package main

import (
	"bytes"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	spdxjson "github.com/spdx/tools-golang/json"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

// buildInfo as the linker leaves it, with a module that is replaced and one with two versions' notation.
func buildInfo() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.com/operator/cmd/operator",
		Main: debug.Module{Path: "example.com/operator", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "github.com/Acme/lib", Version: "v2.0.0+incompatible"},
			{Path: "k8s.io/old", Version: "v1.0.0", Replace: &debug.Module{Path: "k8s.io/new", Version: "v1.1.0"}},
		},
	}
}

func document(t *testing.T, binaries []binary) *spdx.Document {
	t.Helper()
	content, err := sbom(subject{"trainingjob-operator", "v0.2.0", "CONTAINER"}, made, binaries,
		&debug.Module{Path: rootsModule, Version: "v0.0.0-1"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := sbom(subject{"trainingjob-operator", "v0.2.0", "CONTAINER"}, made, binaries,
		&debug.Module{Path: rootsModule, Version: "v0.0.0-1"})
	if err != nil || !bytes.Equal(content, again) {
		t.Errorf("the same SBOM differs: %v", err)
	}
	d := &spdx.Document{}
	if err := spdxjson.ReadInto(bytes.NewReader(content), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSBOM: the document is valid, describes the image, and lists each binary and each module once, by the
// package URL that scanners look for.
func TestSBOM(t *testing.T) {
	d := document(t, built(containerPrograms[0], linux...))
	if err := spdxlib.ValidateDocument(d); err != nil {
		t.Error(err)
	}
	described, err := spdxlib.GetDescribedPackageIDs(d)
	if err != nil || len(described) != 1 || described[0] != "Subject" {
		t.Errorf("the document describes %v: %v", described, err)
	}
	if d.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("created %s, not when the source was", d.CreationInfo.Created)
	}
	var urls []string
	for _, p := range d.Packages {
		if !regexp.MustCompile(`^[a-zA-Z0-9.-]+$`).MatchString(string(p.PackageSPDXIdentifier)) {
			t.Errorf("%q is no SPDX identifier", p.PackageSPDXIdentifier)
		}
		for _, r := range p.PackageExternalReferences {
			urls = append(urls, r.Locator)
		}
	}
	slices.Sort(urls)
	want := []string{
		"pkg:golang/example.com/operator@v0.2.0#cmd/operator",
		"pkg:golang/example.com/operator@v0.2.0#cmd/operator",
		"pkg:golang/github.com/acme/lib@v2.0.0%2Bincompatible",
		"pkg:golang/golang.org/x/crypto/x509roots/fallback@v0.0.0-1",
		"pkg:golang/k8s.io/new@v1.1.0", "pkg:golang/stdlib@1.26.8",
	}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Error("package URLs (-want +got):\n" + diff)
	}
}

// TestSBOMRelates: the image contains its binaries and the authorities, and each binary depends on what it is
// linked from.
func TestSBOMRelates(t *testing.T) {
	binaries := built(containerPrograms[0], linux...)
	binaries[1].info.Deps = binaries[1].info.Deps[:1] // the replaced module is of the first alone
	d := document(t, binaries)
	var got []string
	for _, r := range d.Relationships {
		name := regexp.MustCompile(`-[0-9a-f]{8}$`).ReplaceAllString(string(r.RefB.ElementRefID), "")
		got = append(got, strings.Join([]string{string(r.RefA.ElementRefID), r.Relationship, name}, " "))
	}
	want := []string{
		"DOCUMENT DESCRIBES Subject",
		"Subject CONTAINS Binary-linux-amd64",
		"Binary-linux-amd64 DEPENDS_ON Module-stdlib-1.26.8",
		"Binary-linux-amd64 DEPENDS_ON Module-github.com-Acme-lib-v2.0.0-incompatible",
		"Binary-linux-amd64 DEPENDS_ON Module-k8s.io-new-v1.1.0",
		"Subject CONTAINS Binary-linux-arm64",
		"Binary-linux-arm64 DEPENDS_ON Module-stdlib-1.26.8",
		"Binary-linux-arm64 DEPENDS_ON Module-github.com-Acme-lib-v2.0.0-incompatible",
		"Subject CONTAINS Module-golang.org-x-crypto-x509roots-fallback-v0.0.0-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("relationships (-want +got):\n" + diff)
	}
}

// TestSBOMOfOtherBinaries has another namespace: no two documents share one.
func TestSBOMOfOtherBinaries(t *testing.T) {
	binaries := built(containerPrograms[0], linux...)
	first := document(t, binaries).DocumentNamespace
	binaries[1].content = []byte("another")
	if second := document(t, binaries).DocumentNamespace; first == second {
		t.Errorf("two documents have the namespace %s", first)
	}
}
