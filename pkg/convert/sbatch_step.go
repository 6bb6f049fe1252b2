package convert

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// step is what a script runs on its nodes.
type step struct {
	// stmt is the statement of the script that has it.
	stmt *syntax.Stmt
	line uint
	// starter is srun or a program of MPI; empty: the script runs the program itself, on one node.
	starter string
	// words of the program, without srun and containers around it, and prefix those of programs that start it.
	words, prefix []*syntax.Word
	// before are commands of a shell that the step starts, ahead of the program.
	before []*syntax.Stmt
}

func (p *step) at() *field.Path { return lineOf(p.line, p.starter) }

// trainers are programs that train, besides python and its scripts.
var trainers = []string{"accelerate", "deepspeed", "torchrun"}

var pythonName = regexp.MustCompile(`^python[0-9.]*$`)

func isTrainer(name string) bool {
	return slices.Contains(trainers, name) || pythonName.MatchString(name)
}

// callOf returns the simple command of a statement: the first of a pipeline or a list.
func callOf(stmt *syntax.Stmt) *syntax.CallExpr {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return cmd
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return callOf(cmd.Stmt)
		}
	case *syntax.BinaryCmd:
		return callOf(cmd.X)
	}
	return nil
}

// stepWords are the words of a statement's command, without builtins that start a program, and with the
// program that a variable names.
func (s *slurm) stepWords(stmt *syntax.Stmt) []*syntax.Word {
	call := callOf(stmt)
	if call == nil {
		return nil
	}
	words := call.Args
	s.reparsed = false
	for range 10 {
		if len(words) == 0 {
			break
		}
		s.reparsed = s.reparsed || program(words) == "eval"
		if more, is := s.expanded(words[0]); is {
			words = slices.Concat(more, words[1:])
			continue
		}
		switch program(words) {
		case "exec", "eval", "nohup", "command":
			words = words[1:]
			continue
		}
		break
	}
	return words
}

// expanded returns the words that a variable has, if a word is that variable alone.
func (s *slurm) expanded(word *syntax.Word) ([]*syntax.Word, bool) {
	if len(word.Parts) != 1 {
		return nil, false
	}
	part := word.Parts[0]
	quoted, isQuoted := part.(*syntax.DblQuoted)
	if isQuoted && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	p, is := part.(*syntax.ParamExp)
	if !is || p.Param == nil {
		return nil, false
	}
	value := s.values[p.Param.Value]
	_, simple := simpleVariable(p)
	isList := p.Index != nil && shellText(p) == "${"+p.Param.Value+"[@]}"
	switch {
	case value == nil || s.assigned[p.Param.Value] != 1:
	case isList && value.Array != nil:
		var words []*syntax.Word
		for _, e := range value.Array.Elems {
			if e.Value != nil {
				words = append(words, e.Value)
			}
		}
		s.inlined[p.Param.Value] = true
		return words, true
	case simple && !isQuoted && value.Array == nil:
		text := quotedText(value.Value)
		if !s.reparsed && strings.ContainsAny(text, `'"`) { // which the shell would not take for quotes
			return nil, false
		}
		words, err := shellWords(text)
		s.inlined[p.Param.Value] = s.inlined[p.Param.Value] || err == nil
		return words, err == nil
	}
	return nil, false
}

// findStep finds the one step of the script.
func (s *slurm) findStep(stmts []*syntax.Stmt) {
	var steps, direct []*step
	for _, stmt := range stmts {
		words := s.stepWords(stmt)
		one := &step{stmt: stmt, line: stmt.Pos().Line(), starter: program(words), words: words}
		switch {
		case one.starter == "srun" && onlyPrints(words):
			s.warn(one.at(), "%q prints, and is left out", shellText(stmt))
			s.diagnostics[stmt] = true
		case one.starter == "srun" || slices.Contains(mpiStarters, one.starter):
			steps = append(steps, one)
		case isTrainer(one.starter):
			one.starter = ""
			direct = append(direct, one)
		}
	}
	switch nested := nestedStep(stmts); {
	case len(steps) > 1:
		s.fail(steps[1].at(), "is a second step, and one job trains: keep one of them, and convert the others as "+
			"jobs of their own (the first is in line %d)", steps[0].line)
	case len(steps) == 0 && nested != nil:
		s.fail(lineOf(nested.Pos().Line(), program(nested.Args)), "is inside a loop, a function or a "+
			"condition: write one command at the top of the script")
	case len(steps) == 1:
		s.step = steps[0]
		s.stepWords(s.step.stmt)
		s.readStep()
	case s.nodes > 1 && !startsDeepSpeed(direct):
		s.fail(nil, "without srun the script runs on the first of its %d nodes alone: write srun before the "+
			"command that trains, or --nodes=1", s.nodes)
	case len(direct) == 1:
		s.step = direct[0]
		s.tasks = 1 // without srun
		s.stepWords(s.step.stmt)
		s.unwrap()
	}
}

// onlyPrints reports whether srun starts a program that only prints, on each node.
func onlyPrints(words []*syntax.Word) bool {
	var prints, trains bool
	for _, word := range words[1:] {
		name := program([]*syntax.Word{word})
		prints = prints || name != "env" && slices.Contains(printing, name)
		trains = trains || isTrainer(name) || name == "bash" || name == "sh"
	}
	return prints && !trains
}

func startsDeepSpeed(direct []*step) bool {
	return len(direct) == 1 && program(direct[0].words) == "deepspeed"
}

// nestedStep finds a step that is not at the top of a script.
func nestedStep(stmts []*syntax.Stmt) *syntax.CallExpr {
	var found *syntax.CallExpr
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if _, substitution := n.(*syntax.CmdSubst); substitution {
				return false
			}
			call, is := n.(*syntax.CallExpr)
			if name := ""; is {
				name = program(call.Args)
				if found == nil && (name == "srun" || slices.Contains(mpiStarters, name)) {
					found = call
				}
			}
			return true
		})
	}
	return found
}

// optionsOfSteps are those of srun that count here; the others of the job's script hold for its step.
var optionsOfSteps = []string{
	"chdir", "container-image", "container-mounts", "container-workdir", "cpus-per-task", "gpus",
	"gpus-per-node",
	"gpus-per-task", "gres", "image", "mpi", "nodes", "ntasks", "ntasks-per-node",
}

// readStep reads the options of srun, and what it starts.
func (s *slurm) readStep() {
	if s.step.starter == "srun" {
		s.expandOptions()
		raw := make([]string, 0, len(s.step.words))
		for _, word := range s.step.words[1:] {
			text, ok := literal(word, noVariables)
			if !ok {
				text = shellText(word)
			}
			raw = append(raw, text)
		}
		options, read := s.readOptions(raw, s.step.line)
		s.checkOptions(options)
		s.step.words = s.step.words[1+read:]
		s.mergeOptions(options)
	}
	s.unwrap()
	s.containerOptions()
}

// expandOptions puts the values of variables in the place of those among the options of srun.
func (s *slurm) expandOptions() {
	p := s.step
	for i := 1; i < len(p.words) && len(p.words) < maxWords; {
		text := shellText(p.words[i])
		if more, is := s.expanded(p.words[i]); is {
			p.words = slices.Concat(p.words[:i], more, p.words[i+1:])
			continue
		}
		if name := strings.Trim(text, `"${}`); strings.Contains(text, "$") && s.isEmptyAtTop(name) {
			s.warn(p.at(), "%s depends on a condition, and is left out", text)
			p.words = slices.Concat(p.words[:i], p.words[i+1:])
			continue
		}
		if !strings.HasPrefix(text, "-") {
			return
		}
		name, _, has := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		if !strings.HasPrefix(text, "--") {
			name, _, has = shortOption(text)
		} else {
			name = longOption(name)
		}
		i++
		if slurmOptions[name].argument == 'y' && !has {
			i++
		}
	}
}

// isEmptyAtTop reports whether a variable is empty unless a condition gives it another value.
func (s *slurm) isEmptyAtTop(name string) bool {
	value := s.values[name]
	if value == nil || value.Array != nil {
		return false
	}
	text, ok := literal(value.Value, noVariables)
	return ok && text == ""
}

// mergeOptions lays the step out. A number of its tasks replaces those of the job, whose GPUs it keeps.
func (s *slurm) mergeOptions(options []givenOption) {
	_, total := last(options, "ntasks")
	_, perNode := last(options, "ntasks-per-node")
	if total || perNode {
		for i, o := range options {
			if strings.HasPrefix(o.name, "ntasks") {
				options[i].value = s.resolve(o.value)
			}
		}
		s.options = slices.DeleteFunc(s.options, func(o givenOption) bool {
			return o.name == "ntasks" || o.name == "ntasks-per-node"
		})
	}
	for _, o := range options {
		if slices.Contains(optionsOfSteps, o.name) {
			o.value = s.resolve(o.value)
			s.options = append(s.options, o)
		}
	}
	ofJob := s.layout
	s.readLayout()
	if s.gpus == 0 || ofJob.gpus > 0 {
		s.gpus = ofJob.gpus
	} else {
		s.requests = s.resources()
	}
}

// frameworkOfStep is mpi for what MPI starts, pytorch for what its launchers and Python start, else custom.
func (s *slurm) frameworkOfStep() {
	is := &s.job.Spec.Framework
	*is = v1alpha1.FrameworkPyTorch
	if s.step == nil {
		return
	}
	name := program(s.step.words)
	withMPI, has := last(s.options, "mpi")
	switch {
	case slices.Contains(mpiStarters, name), has && withMPI.value != "none":
		*is = v1alpha1.FrameworkMPI
	case slices.Contains(trainers, name), moduleOf(s.step.words) == "accelerate.commands.launch",
		strings.HasPrefix(moduleOf(s.step.words), "torch.distributed."):
	case pythonName.MatchString(name):
		s.warn(s.step.at(), "the script does not name the framework of the program: pytorch is written")
	case (name == "sh" || name == "bash") && len(s.step.words) > 1 && strings.HasPrefix(
		shellText(s.step.words[1]), "-"):
		s.warn(s.step.at(), "the commands of %s stay as they are, and framework pytorch is written", name)
	case name == "sh" || name == "bash" || strings.HasSuffix(name, ".sh"):
		s.warn(s.step.at(), "%s is not read, and framework pytorch is written: it must be in the image, and must "+
			"not read variables of Slurm (MASTER_ADDR, NODE_RANK and torchrun's PET_* are set)",
			shellText(s.step.words[0]))
	default:
		*is = v1alpha1.FrameworkCustom
		s.warn(s.step.at(), "the script does not name the framework of %s: custom is written",
			shellText(s.step.words[0]))
	}
}
