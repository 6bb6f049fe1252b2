package tfjobadmin

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Mount is a directory of every rank that lies on a claim.
type Mount struct {
	// Path of the directory: absolute, and not the root.
	Path string
	// Claim of the job's namespace, and the directory on it; an empty one is the claim's root.
	Claim, SubPath string
	ReadOnly       bool
}

// within reports whether a clean path is a directory or lies below it.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
}

// climbs reports whether a path has an element "..": what it names would depend on links.
func climbs(name string) bool { return slices.Contains(strings.Split(name, "/"), "..") }

// storage finds the mounts that the directories of a job need.
type storage struct {
	setup    Setup
	at       Path
	problems *Problems
	used     []Mount
}

// mountOf is the innermost mount that has a directory.
func (s *storage) mountOf(dir string) (Mount, bool) {
	var found Mount
	for _, m := range s.setup.Mounts {
		if within(dir, m.Path) && len(m.Path) > len(found.Path) {
			found = m
		}
	}
	return found, found.Path != ""
}

// access is what a job does with a directory.
type access struct {
	writes bool
	// inImage is set for what the image may hold instead of a claim.
	inImage bool
}

// directory returns the clean form of a directory, and notes the mount that it lies on. The mount is empty
// for one that the image holds, and where there is a Problem.
func (s *storage) directory(name, dir string, a access) (string, Mount) {
	if dir == "" {
		return "", Mount{}
	}
	if climbs(dir) {
		s.problems.add(s.at(name), fmt.Sprintf("%q has an element ..", dir), "write the path without it")
		return dir, Mount{}
	}
	if !path.IsAbs(dir) {
		s.problems.add(s.at(name), fmt.Sprintf("%q is no absolute path", dir), s.remedy(a))
		return dir, Mount{}
	}
	dir = path.Clean(dir)
	m, lies := s.mountOf(dir)
	switch {
	case lies && a.writes && m.ReadOnly:
		s.problems.add(s.at(name), fmt.Sprintf("%q lies below %s, which is read-only", dir, m.Path), s.remedy(a))
	case lies:
		if !slices.Contains(s.used, m) {
			s.used = append(s.used, m)
		}
		return dir, m
	case a.inImage && slices.ContainsFunc(s.setup.Runtime.Dirs, func(root string) bool {
		return within(dir, root)
	}):
	default:
		s.problems.add(s.at(name), fmt.Sprintf("%q lies on no claim of the partition", dir), s.remedy(a))
	}
	return dir, Mount{}
}

// remedy names the directories that may be used.
func (s *storage) remedy(a access) string {
	var roots []string
	for _, m := range s.setup.Mounts {
		if !m.ReadOnly || !a.writes {
			roots = append(roots, m.Path)
		}
	}
	if a.inImage {
		roots = append(roots, s.setup.Runtime.Dirs...)
	}
	slices.Sort(roots)
	if roots = slices.Compact(roots); len(roots) > 0 {
		return "give a path below " + strings.Join(roots, " or ")
	}
	return s.setup.Unmounted
}

// bootfile is absolute, or relative to the working directory.
func (s *storage) bootfile(file string) string {
	if file == "" || path.IsAbs(file) {
		file, _ = s.directory("spec.bootfile", file, access{inImage: true})
		return file
	}
	if climbs(file) {
		s.problems.add(s.at("spec.bootfile"), fmt.Sprintf("%q has an element ..", file),
			"write the path without it")
	}
	return path.Clean(file)
}

// volumes of the mounts that are used: one for each claim, and the outer mounts first.
func (s *storage) volumes() ([]corev1.Volume, []corev1.VolumeMount) {
	slices.SortFunc(s.used, func(a, b Mount) int { return cmp.Compare(a.Path, b.Path) })
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, m := range s.used {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim.ClaimName == m.Claim
		})
		if i < 0 {
			i = len(volumes)
			volumes = append(volumes, corev1.Volume{Name: volumeName(i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Claim},
			}})
		}
		mounts = append(mounts, corev1.VolumeMount{
			Name: volumes[i].Name, MountPath: m.Path, SubPath: m.SubPath, ReadOnly: m.ReadOnly,
		})
	}
	return volumes, mounts
}

func volumeName(i int) string {
	if i == 0 {
		return "files"
	}
	return fmt.Sprintf("files-%d", i+1)
}
