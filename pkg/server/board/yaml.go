package board

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// manifestOf returns a job as the cluster has it, without managed fields, and its UID.
func (b *Board) manifestOf(r *http.Request) ([]byte, types.UID, error) {
	query, err := queryOf(r, parameterUID)
	if err != nil {
		return nil, "", err
	}
	out, err := b.Jobs.GetJob(r.Context(), &rest.GetInput{JobPath: jobPath(r)})
	if err != nil {
		return nil, "", err
	}
	uid := out.Body.TrainingJob().UID
	if err := isOf(query, string(uid)); err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(out.Body)
	if err != nil {
		return nil, "", fmt.Errorf("encoding a job: %w", err)
	}
	manifest, err := yaml.JSONToYAML(text)
	return manifest, uid, err
}

// yaml is the page with the manifest.
func (b *Board) yaml(r *http.Request) (view, error) {
	manifest, uid, err := b.manifestOf(r)
	if err != nil {
		return view{}, err
	}
	text, err := fragment.Render(templates, "yaml-text", "yaml", "yaml-text", string(manifest))
	if err != nil {
		return view{}, err
	}
	f := jobFrame{Namespace: r.PathValue("namespace"), Name: r.PathValue("name"), URL: jobURL(r)}
	return view{
		title: f.Namespace + "/" + f.Name + ": YAML", fragments: []fragment.Fragment{text}, uid: uid,
		body: func(fragments []fragment.Fragment) (template.HTML, error) {
			f.Frame = fragments
			return execute("yaml", f)
		},
	}, nil
}

// manifest returns it as a file.
func (b *Board) manifest(w http.ResponseWriter, r *http.Request) {
	manifest, _, err := b.manifestOf(r)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("name")+`.yaml"`)
	_, _ = w.Write(manifest) // the browser can be gone
}
