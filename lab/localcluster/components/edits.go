package components

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// sourceEdit mends a module's source before it is compiled: where old stands, once, new takes its place.
type sourceEdit struct{ module, file, old, new string }

// sourceEdits of a component.
func sourceEdits(component string) []sourceEdit {
	switch component {
	case KWOK:
		return kwokEdits()
	case Volcano:
		return volcanoEdits()
	}
	return nil
}

// kwokEdits make KWOK delete and patch pods by UID. By name, on a slow machine, it comes so late that another
// pod has the name: a rank of the next attempt, which it would delete or end. A kubelet names the UID
// (pkg/kubelet/status/status_manager.go, pkg/util/pod/pod.go), and so does KWOK now.
func kwokEdits() []sourceEdit {
	const pods = "pkg/kwok/controllers/pod_controller.go"
	return []sourceEdit{
		{
			"sigs.k8s.io/kwok", pods, "Delete(ctx, pod.Name, deleteOpt)",
			"Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: deleteOpt.GracePeriodSeconds, " +
				"Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})",
		},
		{
			"sigs.k8s.io/kwok", pods, "Patch(ctx, pod.Name, patch.Type, patch.Data, ",
			"Patch(ctx, pod.Name, patch.Type, func() []byte { if patch.Data[0] != '{' { return patch.Data }; " +
				"return append([]byte(`{\"metadata\":{\"uid\":\"`+string(pod.UID)+`\"},`), patch.Data[1:]...) }(), ",
		},
	}
}

// volcanoEdits add to its API the one constant that the scheduler of v1.15.1 needs and v1.14.0 lacks. Volcano
// replaces its API by a folder beside it, which is in no module; the newest version of the module is v1.14.0.
func volcanoEdits() []sourceEdit {
	const last = `const TopologyDecisionAnnotation = "volcano.sh/topology-decision"`
	return []sourceEdit{{
		"volcano.sh/apis", "pkg/apis/scheduling/v1beta1/labels.go", last,
		last + "\n\nconst QueueAllocationGateKey = GroupName + \"/queue-allocation-gate\"",
	}}
}

// editedModules copies the modules that have edits into dir, mends them, and returns a module file that puts
// them in the place of the originals; "" where there are no edits. (go build's -overlay refuses files of the
// module cache.)
func (b builder) editedModules(ctx context.Context, dir string) (string, error) {
	edits := sourceEdits(b.component.name)
	if len(edits) == 0 {
		return "", nil
	}
	modfile := filepath.Join(dir, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := copyFile(filepath.Join(b.source, name), filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("copying the module file: %w", err)
		}
	}
	for _, e := range edits {
		module := filepath.Join(dir, path.Base(e.module))
		if !isDir(module) {
			original, err := b.download(ctx, e.module)
			if err != nil {
				return "", err
			}
			if err := os.CopyFS(module, os.DirFS(original)); err != nil {
				return "", fmt.Errorf("copying %s: %w", e.module, err)
			}
			if _, err := goCommand(ctx, dir, "mod", "edit", "-replace", e.module+"="+module, modfile); err != nil {
				return "", err
			}
		}
		if err := e.apply(filepath.Join(module, e.file)); err != nil {
			return "", err
		}
	}
	return modfile, nil
}

func (e sourceEdit) apply(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(e.old)); n != 1 {
		return fmt.Errorf("%s of %s has %q %d times, not once: see whether sourceEdits is still needed", e.file,
			e.module, e.old, n)
	}
	if err := os.Chmod(file, 0o600); err != nil { // files of the module cache are read-only
		return err
	}
	return os.WriteFile(file, bytes.Replace(text, []byte(e.old), []byte(e.new), 1), 0o600)
}
