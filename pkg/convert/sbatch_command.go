package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// command of a rank: the program alone, where no statement around it is needed, else a shell that runs both.
func (s *slurm) command() []string {
	var words []*syntax.Word
	if s.step != nil {
		words = s.trainer()
		for _, word := range words {
			s.replaceHosts(word)
		}
		if plain, ok := s.plain(words); ok {
			s.dropped()
			s.readBy(strings.Join(plain, " "))
			return plain
		}
	}
	text := s.shellScript(words)
	s.readBy(text)
	for _, name := range []string{"SLURM_NPROCS", "SLURM_NTASKS"} {
		// Not for programs: Lightning takes the exported variable for srun's
		// (lightning/fabric/plugins/environments/slurm.py, Lightning 2.6).
		if s.reads[name] {
			value, _ := s.slurmVariable(name)
			text = name + "=" + value + "\n" + text
			delete(s.reads, name)
		}
	}
	if stmts, err := parseShell(text); err == nil && slices.ContainsFunc(stmts, readsArguments) {
		s.warn(nil, "the script reads arguments of sbatch, which are empty here: write their values")
	}
	return append(slices.Clone(s.shell), "-c", escaped(text, s.env))
}

// plain is the command without a shell.
func (s *slurm) plain(words []*syntax.Word) ([]string, bool) {
	if len(s.after) > 0 || len(s.step.before) > 0 {
		return nil, false
	}
	var plain []string
	replaced := 0
	for i := 0; i < len(words); i++ {
		if more, is := s.expanded(words[i]); is {
			if replaced++; replaced > maxWords || len(words) > maxWords {
				return nil, false
			}
			words = slices.Concat(words[:i], more, words[i+1:])
			i--
			continue
		}
		text, ok := literal(words[i], s.known)
		if !ok {
			return nil, false
		}
		plain = append(plain, strings.ReplaceAll(escaped(text, s.env), "\x00", "$"))
	}
	for _, stmt := range s.needed(s.kept, nil, true) {
		if !simpleOf(stmt, printing...) {
			return nil, false
		}
	}
	return plain, len(plain) > 0
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// needed leaves out assignments of variables that nothing reads: neither the words of the step nor other
// statements. Exported variables are read by programs, unless they are parts of the step's command. silent:
// statements that print do not count.
func (s *slurm) needed(stmts []*syntax.Stmt, words []*syntax.Word, silent bool) []*syntax.Stmt {
	reads := map[string]int{}
	count := func(text string, by int) {
		for _, name := range identifier.FindAllString(text, -1) {
			reads[name] += by
		}
	}
	for _, word := range words {
		count(shellText(word), 1)
	}
	for _, stmt := range slices.Concat(stmts, s.after) {
		if !silent || !simpleOf(stmt, printing...) {
			count(shellText(stmt), 1)
		}
	}
	for range 20 { // as long as one leaves another unread
		before := len(stmts)
		stmts = slices.DeleteFunc(slices.Clone(stmts), func(stmt *syntax.Stmt) bool {
			if !s.isUnread(stmt, reads) {
				return false
			}
			count(shellText(stmt), -1)
			return true
		})
		if len(stmts) == before {
			break
		}
	}
	return stmts
}

// isUnread reports whether a statement only assigns variables that are mentioned nowhere else.
func (s *slurm) isUnread(stmt *syntax.Stmt, reads map[string]int) bool {
	all, exported, is := assignments(stmt)
	if !is {
		return false
	}
	for _, a := range all {
		if a.Name == nil {
			continue // an option of declare
		}
		own := 0
		for _, name := range identifier.FindAllString(shellText(stmt), -1) {
			if name == a.Name.Value {
				own++
			}
		}
		if name := a.Name.Value; reads[name] > own || exported && !s.inlined[name] && name != worldSize {
			return false
		}
	}
	if !slices.ContainsFunc(all, func(a *syntax.Assign) bool {
		return a.Name != nil && !s.inlined[a.Name.Value]
	}) {
		return true
	}
	for n := range syntax.Preorder(stmt) {
		if _, runs := n.(*syntax.CmdSubst); runs {
			return false
		}
	}
	return true
}

// known stands for a variable in a command without a shell: by its value, or a reference that Kubernetes
// replaces, with a zero byte as its first character.
func (s *slurm) known(name string, quoted bool) (string, bool) {
	if value, is := s.constant(name); is {
		return value, quoted || !strings.ContainsAny(value, " \t\n*?[")
	}
	if name == worldSize && s.assigned[name] > 0 {
		return "", false
	}
	if s.job.Spec.Framework == v1alpha1.FrameworkPyTorch && slices.Contains(s.reserved(), name) {
		return "\x00(" + name + ")", true
	}
	value, is := s.slurmVariable(name)
	return strings.Replace(value, "$(", "\x00(", 1), is && value != "" && value != s.job.Name
}

// dropped warns of statements that print or set options, which a command without a shell does not need.
func (s *slurm) dropped() {
	var lines []string
	for _, stmt := range s.kept {
		if _, _, is := assignments(stmt); !is {
			lines = append(lines, fmt.Sprint(stmt.Pos().Line()))
		}
	}
	if len(lines) > 0 {
		s.warn(nil, "the commands that print, or set options of the shell, are left out: line %s",
			strings.Join(lines, ", "))
	}
}

// shellScript is the text that the shell of a rank runs.
func (s *slurm) shellScript(words []*syntax.Word) string {
	var lines []string
	stmts := s.kept
	if s.step != nil {
		read := slices.Clone(words)
		for _, stmt := range s.step.before {
			read = append(read, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: shellText(stmt)}}})
		}
		stmts = s.needed(stmts, read, false)
		for _, stmt := range s.step.before {
			s.replaceHosts(stmt)
			stmts = append(stmts, stmt)
		}
	}
	traps := false
	for _, stmt := range stmts {
		stmt.Background, stmt.Comments = false, nil
		traps = traps || runsAny(stmt, "trap")
		lines = append(lines, shellText(stmt))
	}
	if len(words) > 0 {
		texts := make([]string, len(words))
		for i, word := range words {
			texts[i] = shellText(word)
		}
		text := strings.Join(texts, " ")
		if len(s.after) == 0 && !traps {
			text = "exec " + text // so that it gets SIGTERM
		}
		lines = append(lines, text)
	}
	for _, stmt := range s.after {
		lines = append(lines, shellText(stmt))
	}
	return strings.Join(lines, "\n") + "\n"
}

var (
	slurmName  = regexp.MustCompile(`\bSLURMD?_[A-Z0-9_]+\b`)
	positional = regexp.MustCompile(`^([1-9][0-9]*|[@*#])$`)
)

// readsArguments reports whether a statement reads $1 and the like, outside of functions.
func readsArguments(stmt *syntax.Stmt) bool {
	found := false
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			return false
		case *syntax.ParamExp:
			found = found || n.Param != nil && positional.MatchString(n.Param.Value)
		}
		return true
	})
	return found
}

// readBy notes the variables of Slurm that a rank reads.
func (s *slurm) readBy(text string) {
	for _, name := range slurmName.FindAllString(text, -1) {
		if _, known := s.slurmVariable(name); known {
			s.reads[name] = true
			continue
		}
		switch {
		case strings.HasPrefix(name, "SLURM_ARRAY_"):
			s.fail(nil, "the script reads %s: write the number of one task in its place", name)
		case name == "SLURM_PROCID" || name == "SLURM_LOCALID":
			s.fail(nil, "the script reads %s, and a node has several tasks: read RANK or LOCAL_RANK, which torchrun "+
				"sets", name)
		case nodeList.MatchString(name):
			s.fail(nil, "the script reads %s, and ranks do not know their nodes: read MASTER_ADDR, or remove it", name)
		default:
			s.fail(nil, "the script reads %s, which has no counterpart: remove it", name)
		}
	}
	if s.reads["SLURM_JOB_ID"] || s.reads["SLURM_JOBID"] {
		s.warn(nil, "SLURM_JOB_ID is the job's name, %s, and stays the same when the job restarts", s.job.Name)
	}
	if s.reads["SLURM_SUBMIT_DIR"] {
		s.warn(nil, "SLURM_SUBMIT_DIR is the working directory of the image")
	}
}

// unknownVariable returns a variable of Slurm in a text that a rank does not have.
func (s *slurm) unknownVariable(text string) string {
	for _, name := range slurmName.FindAllString(text, -1) {
		if _, known := s.slurmVariable(name); !known {
			return name
		}
	}
	return ""
}

// nodeName is the variable of Slurm with the name of the node.
const nodeName = "SLURMD_NODENAME"

// slurmVariable is the value that a variable of Slurm has in a rank.
func (s *slurm) slurmVariable(name string) (string, bool) {
	rank := map[v1alpha1.Framework]string{
		v1alpha1.FrameworkPyTorch: "$(NODE_RANK)", v1alpha1.FrameworkCustom: "$(RANK)", v1alpha1.FrameworkMPI: "0",
	}[s.job.Spec.Framework]
	var n int64
	switch name {
	case "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NAME":
		return s.job.Name, true
	case "SLURM_NODEID":
		return rank, true
	case "SLURM_PROCID":
		return rank, s.tasks == 1
	case "SLURM_LOCALID":
		return "0", s.tasks == 1
	case nodeName:
		return "", true
	case "SLURM_SUBMIT_DIR":
		return ".", true
	case "SLURM_TMPDIR":
		return "/tmp", true
	case "SLURM_NNODES", "SLURM_JOB_NUM_NODES":
		n = s.nodes
	case "SLURM_NTASKS", "SLURM_NPROCS":
		n = s.nodes * s.tasks
	case "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE":
		n = s.tasks
	case "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE":
		n = s.gpus
	case "SLURM_GPUS":
		n = s.gpus * s.nodes
	case "SLURM_GPUS_PER_TASK":
		n = s.gpus / s.tasks
	case "SLURM_CPUS_PER_TASK":
		n = s.requestedCPUs() / s.tasks
	case "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE":
		n = s.requestedCPUs()
	}
	return fmt.Sprint(n), n > 0
}

func (s *slurm) requestedCPUs() int64 {
	q := s.requests.Requests[corev1.ResourceCPU]
	return q.Value()
}

var reference = regexp.MustCompile(`^\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// escaped is text that Kubernetes leaves as it is: it would replace $(NAME) of a variable, and $$ by $.
func escaped(text string, env []corev1.EnvVar) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '$' {
			found := reference.FindStringSubmatch(text[i:])
			isVariable := found != nil && (strings.ToUpper(found[1]) == found[1] ||
				slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == found[1] }))
			if isVariable || strings.HasPrefix(text[i:], "$$") {
				b.WriteByte('$')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
