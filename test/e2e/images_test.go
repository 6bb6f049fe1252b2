//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/debian"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/python"
)

const (
	pytorchImage = "registry.example.com/pytorch:1"
	goImage      = "registry.example.com/gotrainer:1"
	busyboxImage = "registry.example.com/busybox:1"
	mpiImage     = "registry.example.com/mpi:1"
	agentImage   = "registry.example.com/agent:1"
	// The images of frameworks have the names of their packages.
	frameworkImages = "registry.example.com/frameworks/"
)

// images builds the images in dir, next to this repository's programs, and returns their archives.
func images(ctx context.Context, dir string) ([]string, error) {
	rootfs, err := debian.PyTorch(ctx)
	if err != nil {
		return nil, err
	}
	mpi, err := debian.MPI(ctx)
	if err != nil {
		return nil, err
	}
	frameworks, err := imagesOfFrameworks(ctx)
	if err != nil {
		return nil, err
	}
	var archives []string
	for _, image := range append(frameworks, []localcluster.Image{
		{
			Name: pytorchImage, Layers: []string{rootfs},
			Files: map[string]string{
				"/opt/train.py": "../../examples/pytorch/train.py", "/opt/mesh.py": "ranks/mesh.py",
				"/opt/xgboost_ranks.py": "ranks/xgboost_ranks.py", "/opt/elastic.py": "ranks/elastic.py",
				"/opt/hangs.py": "ranks/hangs.py", "/opt/faults.py": "ranks/faults.py",
			},
			Entrypoint: []string{"/usr/bin/python3"}, Env: []string{"OMP_NUM_THREADS=1"},
		},
		{Name: mpiImage, Layers: []string{mpi},
			Files: map[string]string{
				"/opt/mpi.py": "ranks/mpi.py", "/opt/allreduce.py": "ranks/allreduce.py",
				"/opt/mpi_steps.py": "ranks/mpi_steps.py",
			}},
		{Name: goImage, Files: map[string]string{"/gotrainer": filepath.Join(dir, "gotrainer")},
			Entrypoint: []string{"/gotrainer"}},
		{Name: busyboxImage, Files: map[string]string{"/busybox": "/bin/busybox"},
			Entrypoint: []string{"/busybox"}},
		{Name: agentImage, Files: map[string]string{"/agent": filepath.Join(dir, "agent")},
			Entrypoint: []string{"/agent"}},
	}...) {
		name, _, _ := strings.Cut(filepath.Base(image.Name), ":")
		archive := filepath.Join(dir, name+".tar")
		if err := image.Write(archive); err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// imagesOfFrameworks are those of the frameworks that this run plays, one for each lock of packages.
func imagesOfFrameworks(ctx context.Context) ([]localcluster.Image, error) {
	frameworks, err := playedFrameworks()
	if err != nil {
		return nil, err
	}
	files := map[string]string{"/opt/elastic.py": "ranks/elastic.py"}
	programs, err := filepath.Glob("frameworks/*.py")
	if err != nil {
		return nil, err
	}
	callbacks, err := filepath.Glob("../../python/trainingjob/*.py")
	if err != nil {
		return nil, err
	}
	for _, p := range programs {
		files["/opt/train/"+filepath.Base(p)] = p
	}
	for _, c := range callbacks {
		files["/opt/train/trainingjob/"+filepath.Base(c)] = c
	}
	made := map[string]bool{}
	var images []localcluster.Image
	for _, f := range frameworks {
		if made[f.packages] {
			continue
		}
		made[f.packages] = true
		// DeepSpeed compiles a part of itself, and LightGBM needs the compiler's library.
		system, err := debian.Python(ctx, python.Version(f.packages))
		if err != nil {
			return nil, err
		}
		packages, err := python.Layer(ctx, f.packages)
		if err != nil {
			return nil, err
		}
		images = append(images, localcluster.Image{
			Name: frameworkImages + f.packages + ":1", Layers: []string{system, packages}, Files: files,
			Entrypoint: []string{"/usr/bin/python3"},
			Env: []string{
				"OMP_NUM_THREADS=1", "PYTHONPATH=" + python.Path + ":/opt/train",
				"PATH=" + python.Path + "/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			},
		})
	}
	return images, nil
}
