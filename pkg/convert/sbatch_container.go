package convert

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// This file takes containers and shells from around the program of a step.

// startersOfPrograms start the program behind their options, and stay in the command.
var startersOfPrograms = []string{
	"conda", "env", "mamba", "micromamba", "ncu", "nice", "nsys", "numactl", "pixi", "poetry", "rocprof",
	"stdbuf",
	"taskset", "time", "uv",
}

// unwrap takes containers and shells from around the program.
func (s *slurm) unwrap() {
	for range 10 {
		p := s.step
		if len(p.words) == 0 {
			s.fail(p.at(), "starts no program: write one")
			return
		}
		if more, is := s.expanded(p.words[0]); is {
			p.words = slices.Concat(more, p.words[1:])
			continue
		}
		if assign := assignedWord.FindString(shellText(p.words[0])); assign != "" {
			s.export(shellText(p.words[0]))
			p.words = p.words[1:]
			continue
		}
		if len(p.words) > 1 && program(p.words) == "" && s.isTrainerAt(p.words[1:]) {
			s.warn(p.at(), "%s depends on a condition, and is left out", shellText(p.words[0]))
			p.words = p.words[1:]
			continue
		}
		if at := slices.IndexFunc(p.words, func(word *syntax.Word) bool {
			return isTrainer(program([]*syntax.Word{word}))
		}); at > 0 && slices.Contains(startersOfPrograms, program(p.words)) {
			p.prefix, p.words = append(p.prefix, p.words[:at]...), p.words[at:]
			continue
		}
		switch program(p.words) {
		case "shifter":
			s.shifter()
		case "singularity", "apptainer":
			s.apptainer()
		case "sh", "bash":
			if !s.shellCommand() {
				return
			}
		case "docker", "podman", "podman-hpc", "enroot", "charliecloud", "ch-run":
			s.fail(p.at(), "%s starts a container in the container: start the program itself, and give its image "+
				"with --image", program(p.words))
			return
		default:
			return
		}
	}
}

// isTrainerAt reports whether a command trains, whose program a variable may name.
func (s *slurm) isTrainerAt(words []*syntax.Word) bool {
	if more, is := s.expanded(words[0]); is {
		words = more
	}
	return isTrainer(program(words))
}

// assignedWord is the beginning of a variable ahead of a command.
var assignedWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// export sets a variable for the program, unless the operator or torchrun does.
func (s *slurm) export(assignment string) {
	name, _, _ := strings.Cut(assignment, "=")
	f, _ := framework.Get(string(v1alpha1.FrameworkPyTorch))
	if name == "LOCAL_RANK" || slices.Contains(f.Reserved(false), name) {
		s.warn(s.step.at(), "%s is left out: the operator or torchrun sets it", assignment)
		return
	}
	if stmt := s.parsed("export " + assignment); stmt != nil {
		s.step.before = append(s.step.before, stmt)
	}
}

// shellCommand takes bash -c 'COMMANDS' apart. It reports whether the last of the commands is a simple one.
func (s *slurm) shellCommand() bool {
	p := s.step
	if len(p.words) < 3 {
		return false
	}
	flags, ok := literal(p.words[1], noVariables)
	if !ok || !strings.HasPrefix(flags, "-") || !strings.HasSuffix(flags, "c") || len(p.words) > 3 {
		return false
	}
	stmts, err := parseShell(quotedText(p.words[2]))
	if err != nil || len(stmts) == 0 {
		return false
	}
	end := stmts[len(stmts)-1]
	call, is := end.Cmd.(*syntax.CallExpr)
	if !is || len(call.Args) == 0 || len(end.Redirs) > 0 || slices.Contains(afterStep, program(call.Args)) {
		return false
	}
	for _, a := range call.Assigns {
		s.export(shellText(a))
	}
	s.reparsed = true
	p.before = append(p.before, stmts[:len(stmts)-1]...)
	p.words = call.Args
	return true
}

// wrapperOptions reads the options of a program that starts another one. withValue lists those whose value is
// the next word.
func (s *slurm) wrapperOptions(words []*syntax.Word, withValue ...string) (options []givenOption, read int) {
	for read < len(words) {
		text, ok := literal(words[read], noVariables)
		if !ok {
			text = s.resolve(shellText(words[read]))
		}
		if !strings.HasPrefix(text, "-") {
			break
		}
		read++
		name, value, has := strings.Cut(text, "=")
		if !has && slices.Contains(withValue, name) && read < len(words) {
			value = s.resolve(quotedText(words[read]))
			read++
		}
		options = append(options, givenOption{strings.TrimLeft(name, "-"), value, s.step.line})
	}
	return options, read
}

// wrapped takes over what a container around the program is given.
func (s *slurm) wrapped(options []givenOption) {
	for _, o := range options {
		switch o.name {
		case "i", "image":
			s.useImage(o.value, s.step.at())
		case "V", "volume", "B", "bind", "mount":
			s.warn(s.step.at(), "the mount %s has no counterpart: add a volume for it", o.value)
		case "e", "env":
			s.export(o.value)
		case "w", "workdir", "pwd", "cwd":
			if strings.HasPrefix(o.value, "/") && !strings.Contains(o.value, "$") {
				s.workingDir = o.value
			}
		}
	}
}

// shifter starts the image that it or --image names.
func (s *slurm) shifter() {
	p := s.step
	options, read := s.wrapperOptions(p.words[1:], "-i", "--image", "-V", "--volume", "-m", "--module", "-e",
		"--env",
		"-w", "--workdir", "--entrypoint")
	p.words = p.words[1+read:]
	s.wrapped(options)
}

// apptainer starts the image that it names.
func (s *slurm) apptainer() {
	p := s.step
	_, global := s.wrapperOptions(p.words[1:])
	words := p.words[1+global:]
	if name := program(words); name != "exec" && name != "run" {
		s.fail(p.at(), "%s %s has no counterpart: start the program itself", program(p.words), name)
		return
	}
	options, read := s.wrapperOptions(words[1:], "-B", "--bind", "--env", "--env-file", "-H", "--home", "--pwd",
		"--overlay", "-o", "-W", "--workdir", "-S", "--scratch", "--mount", "--cwd", "--app", "--network")
	words = words[1+read:]
	if len(words) < 2 {
		s.fail(p.at(), "%s names no program: write it", program(p.words))
		return
	}
	s.wrapped(slices.DeleteFunc(options, func(o givenOption) bool { // its --workdir is for its own files
		return strings.HasPrefix(strings.ToLower(o.name), "w")
	}))
	s.useImage(s.resolve(quotedText(words[0])), p.at())
	p.words = words[1:]
}

// containerOptions reads those of the plugins Pyxis and Shifter, and the working directory.
func (s *slurm) containerOptions() {
	for _, o := range s.options {
		value := s.resolve(o.value)
		switch o.name {
		case "container-image", "image":
			s.useImage(value, o.at())
		case "container-mounts":
			for _, mount := range strings.Split(value, ",") {
				s.warn(o.at(), "the mount %s has no counterpart: add a volume for it", mount)
			}
		case "container-workdir", "chdir":
			if strings.HasPrefix(value, "/") && !strings.Contains(value, "$") {
				s.workingDir = value
			} else {
				s.warn(o.at(), "%q is no absolute path: the program starts in the image's working directory", o.value)
			}
		}
	}
}

// useImage takes the image of a script, unless it is a file or unknown.
func (s *slurm) useImage(text string, at *field.Path) {
	image := imageOf(text)
	isFile := strings.HasPrefix(image, "/") || strings.HasPrefix(image, ".") || squashed.MatchString(image)
	if isFile || strings.ContainsAny(image, "$ ") {
		if s.conversion.options.Image == "" {
			s.fail(at, "%q is no image in a registry: push it to one, and name it with --image", text)
		} else {
			s.warn(at, "%q is no image in a registry: %s is written", text, s.conversion.options.Image)
		}
		return
	}
	s.image = image
}

// squashed is the name of a file with an image.
var squashed = regexp.MustCompile(`\.(sqsh|squashfs|sqfs|sif|simg|img|tar)$`)

// imageOf is the image that Pyxis, Shifter or Apptainer name: with # behind the registry, or a scheme.
func imageOf(text string) string {
	for _, scheme := range []string{"docker://", "docker:", "dockerd://", "oras://"} {
		text = strings.TrimPrefix(text, scheme)
	}
	registry, image, has := strings.Cut(text, "#")
	if !has {
		return text
	}
	if _, host, hasUser := strings.Cut(registry, "@"); hasUser {
		registry = host
	}
	return registry + "/" + image
}
