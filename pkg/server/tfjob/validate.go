package tfjob

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Limits of the configuration.
const (
	maxRuntimes, maxPartitions, maxMounts = 1000, 10000, 100
	maxNameLength                         = 253
	maxListItems                          = 5000
	maxGPUs                               = 10000000
)

// Validate returns the errors of a configuration, by field below path.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("runtimes")
	if n := len(c.Runtimes); n > maxRuntimes {
		errs = append(errs, field.TooMany(at, n, maxRuntimes))
	}
	named := map[string]bool{}
	for i, r := range c.Runtimes {
		errs = append(errs, r.validate(at.Index(i))...)
		if key := runtimeKey(r.Name); named[key] {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), r.Name))
		} else {
			named[key] = true
		}
	}
	errs = append(errs, c.validatePartitions(path.Child("partitions"))...)
	return append(errs, c.Maximums.validate(path.Child("maximums"))...)
}

// version is the TrainingJob API's rule for spec.frameworkVersion.
var version = regexp.MustCompile(`^[0-9]{1,4}[.][0-9]{1,4}([.-][0-9A-Za-z]+)*$`)

func (r Runtime) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if runtimeKey(r.Name) == "" {
		errs = append(errs, field.Required(at.Child("name"), "set the name of the runtime in documents"))
	} else if len(r.Name) > maxNameLength {
		errs = append(errs, field.TooLong(at.Child("name"), r.Name, maxNameLength))
	}
	if f := r.pure().Framework; !known(string(f)) {
		errs = append(errs, field.NotSupported(at.Child("framework"), f, framework.Names()))
	}
	if v := r.FrameworkVersion; v != "" && (len(v) > 32 || !version.MatchString(v)) {
		errs = append(errs, field.Invalid(at.Child("frameworkVersion"), v,
			"write the major and the minor number, such as 2.1 or 2.1.0-cu121, in at most 32 characters"))
	}
	if r.Image == "" {
		errs = append(errs, field.Required(at.Child("image"), "set the image of the ranks"))
	}
	errs = append(errs, validateImage(r.Image, at.Child("image"))...)
	errs = append(errs, validateImage(r.GPUImage, at.Child("gpuImage"))...)
	if slices.Contains(r.Command, "") {
		errs = append(errs, field.Invalid(at.Child("command"), r.Command, "must not have an empty word"))
	}
	if g := r.GPUResource; g != "" && !framework.DefaultGPUs().Counts(g) {
		errs = append(errs, field.Invalid(at.Child("gpuResource"), g,
			"is not a known GPU: set the resource of a GPU or of a slice, such as nvidia.com/gpu"))
	}
	for i, dir := range r.ImageDirs {
		errs = append(errs, validateDir(dir, at.Child("imageDirs").Index(i))...)
	}
	return errs
}

func known(name string) bool {
	_, is := framework.Get(name)
	return is
}

func validateImage(image string, at *field.Path) field.ErrorList {
	if strings.ContainsAny(image, " \t\n") {
		return field.ErrorList{field.Invalid(at, image, "must not have spaces")}
	}
	return nil
}

func (c Config) validatePartitions(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n := len(c.Partitions); n > maxPartitions {
		errs = append(errs, field.TooMany(at, n, maxPartitions))
	}
	named := map[string]bool{}
	for i, p := range c.Partitions {
		errs = append(errs, p.validate(at.Index(i))...)
		if named[p.Name] {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), p.Name))
		}
		named[p.Name] = true
	}
	return errs
}

func (p Partition) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Name != AnyPartition {
		for _, message := range validation.IsDNS1123Label(p.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), p.Name, message))
		}
	}
	if p.Queue != "" {
		for _, message := range validation.IsDNS1123Subdomain(p.Queue) {
			errs = append(errs, field.Invalid(at.Child("queue"), p.Queue, message))
		}
	}
	mounts := at.Child("mounts")
	if n := len(p.Mounts); n > maxMounts {
		errs = append(errs, field.TooMany(mounts, n, maxMounts))
	}
	paths := map[string]bool{}
	for i, m := range p.Mounts {
		errs = append(errs, m.validate(mounts.Index(i))...)
		if paths[m.Path] {
			errs = append(errs, field.Duplicate(mounts.Index(i).Child("path"), m.Path))
		}
		paths[m.Path] = true
	}
	return errs
}

// operators are the directories that the operator mounts in ranks.
var operators = []string{"/trainingjob", spec.DefaultCheckpointPath, "/dev", "/proc", "/sys"}

func (m Mount) validate(at *field.Path) field.ErrorList {
	errs := validateDir(m.Path, at.Child("path"))
	for _, dir := range operators {
		if m.Path == dir || strings.HasPrefix(m.Path, dir+"/") {
			errs = append(errs, field.Invalid(at.Child("path"), m.Path,
				"belongs to the operator or the system: "+
					"mount the claim elsewhere"))
		}
	}
	for _, message := range validation.IsDNS1123Subdomain(m.Claim) {
		errs = append(errs, field.Invalid(at.Child("claim"), m.Claim, message))
	}
	if s := m.SubPath; s != "" && (path.IsAbs(s) || path.Clean(s) != s || s == ".." || s == "." ||
		strings.HasPrefix(s, "../")) {
		errs = append(errs, field.Invalid(at.Child("subPath"), s,
			"must be a relative path without . and .., such as shared/clever"))
	}
	return errs
}

// validateDir accepts absolute paths in their shortest form, except /.
func validateDir(dir string, at *field.Path) field.ErrorList {
	if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" || strings.Contains(dir, ":") {
		return field.ErrorList{field.Invalid(at, dir, "must be an absolute path other than /, without .., ':' "+
			"and a slash at its end, such as /clever")}
	}
	return nil
}

func (m Maximums) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.Replicas < 1 || m.Replicas > spec.MaxReplicas {
		errs = append(errs, field.Invalid(at.Child("replicas"), m.Replicas, "must be from 1 to 10000"))
	}
	if m.GPUs < 0 || m.GPUs > maxGPUs {
		errs = append(errs, field.Invalid(at.Child("gpus"), m.GPUs, "must be from 0 to 10000000"))
	}
	if m.ListItems < 1 || m.ListItems > maxListItems {
		errs = append(errs, field.Invalid(at.Child("listItems"), m.ListItems, "must be from 1 to 5000"))
	}
	return errs
}
