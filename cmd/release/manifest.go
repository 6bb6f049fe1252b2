package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// manifests that are rendered: each from one kustomization below deploy/. Those of the operator have all that
// stands before it; those of the server are applied after one of these.
var manifests = map[string]string{
	"install.yaml":         "operator",
	"install-reports.yaml": "reports",
	"server.yaml":          "server",
	"server-postgres.yaml": "server-postgres",
}

// base folders are installed before the operator.
var base = []string{"crd", "admission"}

// baseOf a kustomization is what its manifest has besides.
func baseOf(kustomization string) []string {
	if strings.HasPrefix(kustomization, "server") {
		return nil
	}
	return base
}

// placeholder of an image in the kustomizations of deploy/.
const placeholder = "registry.example.com/"

// configurations of the operator below deploy/, which name the agent's image.
var configurations = []string{"operator/config.yaml", "reports/config.yaml"}

// render what an admin applies: a kustomization of deploy/ with our images, and what it is based on.
func render(deploy fs.FS, kustomization string, o options) ([]byte, error) {
	disk := filesys.MakeFsInMemory()
	if err := copyTo(disk, "/deploy", deploy); err != nil {
		return nil, fmt.Errorf("reading deploy: %w", err)
	}
	for _, config := range configurations {
		if err := setAgentImage(disk, path.Join("/deploy", config), o.imageName(agentImage)); err != nil {
			return nil, fmt.Errorf("naming the agent's image in deploy/%s: %w", config, err)
		}
	}
	k := types.Kustomization{
		TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Images: []types.Image{
			{Name: placeholder + operatorImage, NewName: o.registry + "/" + operatorImage, NewTag: o.version},
			{Name: placeholder + serverImage, NewName: o.registry + "/" + serverImage, NewTag: o.version},
		},
		Labels: []types.Label{{Pairs: map[string]string{"app.kubernetes.io/version": o.version}}},
	}
	for _, folder := range baseOf(kustomization) {
		files, err := fs.Glob(deploy, folder+"/*.yaml")
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("reading deploy/%s: no manifests: %w", folder, err)
		}
		for _, f := range files {
			k.Resources = append(k.Resources, "../deploy/"+f)
		}
	}
	k.Resources = append(k.Resources, "../deploy/"+kustomization)
	content, err := yaml.Marshal(k)
	if err == nil {
		err = disk.WriteFile("/release/kustomization.yaml", content)
	}
	if err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // the CRD's folder has no kustomization
	resources, err := krusty.MakeKustomizer(options).Run(disk, "/release")
	if err != nil {
		return nil, fmt.Errorf("rendering deploy/%s: %w", kustomization, err)
	}
	return resources.AsYaml()
}

func copyTo(disk filesys.FileSystem, to string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() { // the chart has links to folders that are read anyway
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return disk.WriteFile(path.Join(to, name), content)
	})
}

// setAgentImage in the configuration within a ConfigMap. It is changed as a tree, which keeps its comments.
func setAgentImage(disk filesys.FileSystem, file, image string) error {
	content, err := disk.ReadFile(file)
	if err != nil {
		return err
	}
	configMap, err := kyaml.Parse(string(content))
	if err != nil {
		return err
	}
	const key = "config.yaml"
	config, err := kyaml.Parse(configMap.GetDataMap()[key])
	if err != nil {
		return err
	}
	agent, err := config.Pipe(kyaml.Get("agent"))
	if err != nil {
		return err
	}
	if agent.IsNilOrEmpty() {
		return errors.New("the configuration has no agent")
	}
	if err := agent.PipeE(kyaml.SetField("image", kyaml.NewStringRNode(image))); err != nil {
		return err
	}
	edited, err := config.String()
	if err != nil {
		return err
	}
	configMap.LoadMapIntoConfigMapData(map[string]string{key: edited})
	rendered, err := configMap.String()
	if err != nil {
		return err
	}
	return disk.WriteFile(file, []byte(rendered))
}

func subjectOf(manifest string) string {
	if strings.HasPrefix(manifest, "server") {
		return "server"
	}
	return "operator"
}

// manifestHeader says what a manifest is and how it is applied.
func manifestHeader(name string, o options, s source) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# TrainingJob %s %s", subjectOf(name), o.version)
	if s.revision != "" {
		fmt.Fprintf(&out, ", of commit %s", s.revision)
	}
	fmt.Fprintf(&out, ":\n#\n#   kubectl apply --server-side -f %s\n", name)
	return out.Bytes()
}
