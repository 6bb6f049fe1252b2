package main

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// krewManifest is sigs.k8s.io/krew/pkg/index.Plugin. That module requires client-go v11, which is newer than
// v0.37 to Go, so it cannot be imported here; lab/modules/tools has krew's own validator, which make verify
// and make release ask.
type krewManifest struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec krewSpec `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	URI      string                `json:"uri"`
	SHA256   string                `json:"sha256"`
	Selector *metav1.LabelSelector `json:"selector"`
	Bin      string                `json:"bin"`
}

// krewFile must be named after the plugin.
const krewFile = "tj.yaml"

// krewOf the plugin's archives, whose checksums are given by name.
func krewOf(o options, sums map[string]string) ([]byte, error) {
	m := krewManifest{TypeMeta: metav1.TypeMeta{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
	}}
	m.Metadata.Name = strings.TrimSuffix(krewFile, ".yaml")
	m.Spec.Version = o.version
	m.Spec.ShortDescription = "Work on TrainingJobs"
	m.Spec.Description = "Says why a TrainingJob of the TrainingJob operator waits, what has happened to it, " +
		"and who uses and waits for a quota; makes TrainingJobs from the jobs of other systems.\n"
	for _, on := range pluginPlatforms {
		archive := pluginArchive(o.version, on)
		sum, ok := sums[archive]
		if !ok {
			return nil, fmt.Errorf("describing the plugin for krew: there is no %s", archive)
		}
		m.Spec.Platforms = append(m.Spec.Platforms, krewPlatform{
			URI: strings.TrimSuffix(o.url, "/") + "/" + archive, SHA256: sum, Bin: binaryName(plugin, on),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"os": on.os, "arch": on.arch}},
		})
	}
	return yaml.Marshal(m)
}
