package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	license = "Apache-2.0"
	unknown = "NOASSERTION"
)

// subject of an SBOM: what is shipped, with its purpose in SPDX's words (SPDX 2.3, 7.24).
type subject struct{ name, version, purpose string }

// sbom lists what a subject contains: its binaries, and the modules that these are linked from, as the
// linker has noted them in each. contents are modules that it contains besides.
//
//	subject ──CONTAINS──▶ binary, one for each platform ──DEPENDS_ON──▶ module
func sbom(of subject, s source, binaries []binary, contents ...*debug.Module) ([]byte, error) {
	root := &spdx.Package{
		PackageName: of.name, PackageSPDXIdentifier: "Subject", PackageVersion: of.version,
		PrimaryPackagePurpose: of.purpose, PackageLicenseDeclared: license, PackageLicenseConcluded: unknown,
		PackageDownloadLocation: unknown, PackageCopyrightText: unknown,
	}
	d := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: of.name + "-" + of.version,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "trainingjob-operator-release"}},
			Created:  s.time.Format(time.RFC3339),
		},
		Packages:      []*spdx.Package{root},
		Relationships: []*spdx.Relationship{relate("DOCUMENT", "DESCRIBES", root.PackageSPDXIdentifier)},
	}
	modules := map[common.ElementID]*spdx.Package{}
	all := sha256.New()
	for _, b := range binaries {
		linked := binaryPackage(of, b)
		all.Write([]byte(linked.PackageChecksums[0].Value))
		d.Packages = append(d.Packages, linked)
		d.Relationships = append(d.Relationships, relate("Subject", "CONTAINS", linked.PackageSPDXIdentifier))
		for _, m := range modulesOf(b.info) {
			modules[m.PackageSPDXIdentifier] = m
			d.Relationships = append(d.Relationships,
				relate(linked.PackageSPDXIdentifier, "DEPENDS_ON", m.PackageSPDXIdentifier))
		}
	}
	for _, c := range contents {
		m := modulePackage(c)
		modules[m.PackageSPDXIdentifier] = m
		d.Relationships = append(d.Relationships, relate("Subject", "CONTAINS", m.PackageSPDXIdentifier))
	}
	d.Packages = slices.AppendSeq(d.Packages, maps.Values(modules))
	slices.SortFunc(d.Packages[1+len(binaries):], func(a, b *spdx.Package) int {
		return cmp.Compare(a.PackageSPDXIdentifier, b.PackageSPDXIdentifier)
	})
	// It must be unique to the document (SPDX 2.3, 6.5); the sum of what it describes is.
	d.DocumentNamespace = fmt.Sprintf("https://spdx.org/spdxdocs/%s-%x", d.DocumentName, all.Sum(nil)[:16])
	var out bytes.Buffer
	err := spdxjson.Write(d, &out, spdxjson.Indent("  "), spdxjson.EscapeHTML(false))
	return out.Bytes(), err
}

func relate(a common.ElementID, how string, b common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(a)), Relationship: how,
		RefB: common.MakeDocElementID("", string(b)),
	}
}

func binaryPackage(of subject, b binary) *spdx.Package {
	m := b.info.Main
	m.Version = of.version // Go does not know it: no published module is built
	p := modulePackage(&m)
	p.PackageName = b.name()
	p.PackageSPDXIdentifier = common.ElementID("Binary-" + b.platform.String())
	p.PackageFileName, p.PrimaryPackagePurpose = b.name(), "APPLICATION"
	p.PackageLicenseDeclared = license
	p.PackageSummary = "for " + b.platform.os + "/" + b.platform.arch
	p.PackageChecksums = []common.Checksum{
		{Algorithm: common.SHA256, Value: fmt.Sprintf("%x", sha256.Sum256(b.content))},
	}
	p.PackageExternalReferences[0].Locator += "#" + b.program.pkg
	return p
}

// modulesOf a binary, with Go's standard library.
func modulesOf(info *debug.BuildInfo) []*spdx.Package {
	packages := []*spdx.Package{
		modulePackage(&debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}),
	}
	for _, m := range info.Deps {
		packages = append(packages, modulePackage(m))
	}
	return packages
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func modulePackage(m *debug.Module) *spdx.Package {
	if m.Replace != nil {
		m = m.Replace
	}
	locator := packageURL(m)
	// Two locators may differ in what an ID cannot say.
	id := fmt.Sprintf("Module-%s-%x", notInID.ReplaceAllString(m.Path+"-"+m.Version, "-"),
		sha256.Sum256([]byte(locator)))
	return &spdx.Package{
		PackageName: m.Path, PackageSPDXIdentifier: common.ElementID(id[:len(id)-56]), PackageVersion: m.Version,
		PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown,
		PackageCopyrightText: unknown, PrimaryPackagePurpose: "LIBRARY",
		PackageExternalReferences: []*spdx.PackageExternalReference{
			{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: locator},
		},
	}
}

// packageURL by which scanners look for vulnerabilities
// (https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md).
func packageURL(m *debug.Module) string {
	return "pkg:golang/" + strings.ToLower(m.Path) + "@" + url.QueryEscape(m.Version)
}
