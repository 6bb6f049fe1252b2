package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// assignedBy counts the assignments at the top of a script, and keeps their values.
func (s *slurm) assignedBy(stmts []*syntax.Stmt) {
	top := map[*syntax.Assign]bool{}
	for _, stmt := range stmts {
		all, _, is := assignments(stmt)
		for _, a := range all {
			if is && a.Name != nil && !a.Naked && !a.Append && a.Index == nil {
				top[a] = true
				s.values[a.Name.Value] = a
			}
		}
	}
	for _, stmt := range stmts {
		for n := range syntax.Preorder(stmt) {
			if a, is := n.(*syntax.Assign); is && a.Name != nil && !a.Naked {
				s.assigned[a.Name.Value]++
				if !top[a] {
					s.assigned[a.Name.Value]++ // whether it happens is not known
				}
			}
		}
	}
}

// constant is the value of a variable that the script assigns once, at its top, without an expansion.
func (s *slurm) constant(name string) (string, bool) {
	if known, seen := s.constants[name]; seen {
		return known.value, known.is
	}
	s.constants[name] = constant{} // a variable of itself is none
	a := s.values[name]
	if a == nil || a.Array != nil || s.assigned[name] != 1 {
		return "", false
	}
	value, is := literal(a.Value, func(inner string, _ bool) (string, bool) { return s.constant(inner) })
	s.constants[name] = constant{value, is}
	return value, is
}

// constant is the value of a variable, if it has one.
type constant struct {
	value string
	is    bool
}

// Programs that print, and those of Slurm that a rank does not have.
var (
	printing = []string{"clear", "date", "echo", "env", "hostname", "nvidia-smi", "printenv", "printf", "pwd",
		"set", "ulimit", "whoami"}
	ofSlurm   = []string{"sacct", "salloc", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun", "sstat"}
	afterStep = append([]string{"exit", "wait"}, printing...)
)

// statements sorts what the script runs besides its step.
func (s *slurm) statements(stmts []*syntax.Stmt) {
	behind := false
	var leftOut, once []string
	for _, stmt := range stmts {
		line := fmt.Sprint(stmt.Pos().Line())
		if s.step != nil && stmt == s.step.stmt {
			behind = true
			s.besides(stmt)
			continue
		}
		if s.diagnostics[stmt] {
			continue
		}
		kept := s.statement(stmt)
		switch {
		case kept == nil:
		case behind && s.nodes > 1 && s.job.Spec.Framework != v1alpha1.FrameworkMPI:
			if !simpleOf(kept, afterStep...) {
				s.fail(lineOf(stmt.Pos().Line(), ""), "runs once, when all tasks have ended: put it into another job, "+
					"or at the end of the program")
			}
			leftOut = append(leftOut, line)
		case simpleOf(kept, "wait"):
			leftOut = append(leftOut, line)
		case behind:
			s.after = append(s.after, kept)
		default:
			s.kept = append(s.kept, kept)
			if _, _, is := assignments(kept); !is && !simpleOf(kept, printing...) {
				once = append(once, strings.Join(strings.Fields(shellText(kept)), " "))
			}
		}
	}
	if len(leftOut) > 0 {
		s.warn(nil, "the commands after the step are left out: line %s", strings.Join(leftOut, ", "))
	}
	if len(once) > 0 && s.nodes > 1 && s.job.Spec.Framework != v1alpha1.FrameworkMPI {
		s.warn(nil, "these lines ran once in Slurm, and run in every rank here: %s", strings.Join(once, "; "))
	}
}

// simpleOf reports whether a statement is one of some commands, without an effect on files.
func simpleOf(stmt *syntax.Stmt, programs ...string) bool {
	calls := pipeline(stmt)
	return len(calls) > 0 && slices.Contains(programs, program(calls[0].Args)) && !writesFile(stmt) &&
		!slices.ContainsFunc(calls, func(call *syntax.CallExpr) bool {
			return len(call.Args) == 0 || program(call.Args) == "tee"
		})
}

// writesFile reports whether a statement sends its output elsewhere.
func writesFile(stmt *syntax.Stmt) bool {
	for n := range syntax.Preorder(stmt) {
		if r, is := n.(*syntax.Redirect); is && r.Op != syntax.DplOut && (r.Word == nil ||
			shellText(r.Word) != "/dev/null") {
			return true
		}
	}
	return false
}

// besides looks at what stands around the step in its statement: where its output goes, and what follows it.
func (s *slurm) besides(stmt *syntax.Stmt) {
	at := s.step.at()
	call := callOf(stmt)
	for _, a := range call.Assigns {
		if a.Name == nil || a.Value == nil {
			continue
		}
		if value, ok := literal(a.Value, s.known); ok && !strings.ContainsRune(value, 0) {
			s.setEnv(a.Name.Value, value)
			continue
		}
		s.kept = append(s.kept, &syntax.Stmt{Cmd: &syntax.DeclClause{
			Variant: &syntax.Lit{Value: "export"}, Args: []*syntax.Assign{a},
		}})
	}
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Stmt:
			if slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool {
				return r.Hdoc != nil || r.Op == syntax.RdrIn || r.Op == syntax.WordHdoc
			}) {
				s.fail(at, "reads its input from the script: put that into a file of the image")
			} else if slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool { return r.Op != syntax.DplOut }) {
				s.warn(at, "the file of its output "+noCounterpart+": see kubectl logs")
			}
		case *syntax.BinaryCmd:
			switch then := shellText(n.Y); {
			case n.Op == syntax.Pipe || n.Op == syntax.PipeAll:
				s.warn(at, "%q, which reads its output, "+noCounterpart+": see kubectl logs", then)
			case simpleOf(n.Y, afterStep...):
				s.warn(at, "%q, which follows it, is left out", then)
			default:
				s.fail(at, "%q runs once, when all tasks have ended: put it into another job", then)
			}
		}
		return true
	})
}

// statement returns what a rank runs of a statement; nil: nothing.
func (s *slurm) statement(stmt *syntax.Stmt) *syntax.Stmt {
	line := stmt.Pos().Line()
	if loadsModules(stmt) {
		s.warn(lineOf(line, "module"), "is left out: the image must have the software (%s)", shellText(stmt))
		return nil
	}
	if calls := pipeline(stmt); len(calls) > 0 {
		switch name := program(calls[0].Args); name {
		case "clear": // fails without a terminal
			return nil
		case "readarray", "mapfile":
			if list := calls[0].Args[len(calls[0].Args)-1]; runsAny(stmt, "scontrol") {
				s.hostLists[shellText(list)] = true
				return s.parsed(shellText(list) + "=(" + s.leader() + ")")
			}
		}
	}
	if all, exported, is := assignments(stmt); is {
		stmt = s.assignment(stmt, all, exported)
		if stmt == nil {
			return nil
		}
	}
	s.replaceHosts(stmt)
	prints := simpleOf(stmt, printing...)
	if unknown := s.unknownVariable(shellText(stmt)); prints && (unknown != "" || runsAny(stmt, ofSlurm...)) {
		return nil
	}
	failed := len(s.errors)
	for _, call := range callsIn(stmt) {
		switch name := program(call.Args); {
		case name == "srun":
			s.fail(lineOf(call.Pos().Line(), name), "is inside another command: one job has one step, at the top "+
				"of the script")
		case slices.Contains(ofSlurm, name):
			s.fail(lineOf(call.Pos().Line(), name), ofSlurmRemedy)
		case name == "module" || name == "ml":
			s.fail(lineOf(call.Pos().Line(), name), "loads software of the cluster: remove it, and let the image "+
				"have it")
		}
	}
	if name := inText.FindString(shellText(stmt)); name != "" && !prints && len(s.errors) == failed {
		s.fail(lineOf(line, name), ofSlurmRemedy)
	}
	return stmt
}

// loadsModules reports whether a statement has nothing but commands for modules, and such as print.
func loadsModules(stmt *syntax.Stmt) bool {
	_, isCall := stmt.Cmd.(*syntax.CallExpr)
	if _, isList := stmt.Cmd.(*syntax.BinaryCmd); !isCall && !isList {
		return false
	}
	loads := false
	for _, call := range callsIn(stmt) {
		name := program(call.Args)
		if name != "module" && name != "ml" && !slices.Contains(printing, name) {
			return false
		}
		loads = loads || name == "module" || name == "ml"
	}
	return loads
}

// inText finds programs of Slurm in the arguments of others, such as a trap.
var inText = regexp.MustCompile(`\b(sbatch|scancel|scontrol|squeue|srun)\b`)

const ofSlurmRemedy = "is a program of Slurm: remove it; the operator restarts and requeues the job, and a " +
	"rank has the variables of docs/migrate.md"

// parsed reads one statement of the program's own.
func (s *slurm) parsed(text string) *syntax.Stmt {
	stmts, err := parseShell(text)
	if err != nil || len(stmts) != 1 {
		return nil
	}
	return stmts[0]
}

// worldSize is the number of processes in most scripts, and that of ranks in the operator's variable.
const worldSize = "WORLD_SIZE"

// assignment moves literal exports to the job, and takes out what the operator sets.
func (s *slurm) assignment(stmt *syntax.Stmt, all []*syntax.Assign, exported bool) *syntax.Stmt {
	reserved := s.reserved()
	var rest []*syntax.Assign
	for _, a := range all {
		if a.Name == nil {
			rest = append(rest, a)
			continue
		}
		name := a.Name.Value
		value, known := s.constant(name)
		switch {
		case name == worldSize:
			s.warn(lineOf(stmt.Pos().Line(), name), "the operator sets it for the program: the script's value stays "+
				"in the script")
			rest = append(rest, a)
		case slices.Contains(reserved, name):
			s.reservedAssignment(a, stmt.Pos().Line())
		case exported && known && !a.Naked:
			s.setEnv(name, value)
		case exported && a.Naked && s.exportNaked(name):
		default:
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		cmd.Assigns = rest
	case *syntax.DeclClause:
		cmd.Args = rest
	}
	return stmt
}

// exportNaked exports a variable that has its value from before.
func (s *slurm) exportNaked(name string) bool {
	value, known := s.constant(name)
	if known {
		s.setEnv(name, value)
	}
	return known || slices.Contains(s.reserved(), name)
}

// reservedAssignment warns of a variable that is the operator's. A literal port is the job's.
func (s *slurm) reservedAssignment(a *syntax.Assign, line uint) {
	name := a.Name.Value
	if value, known := s.constant(name); known && name == "MASTER_PORT" {
		if port, err := strconv.ParseInt(value, 10, 32); err == nil && port >= 1024 && port <= 65535 {
			s.job.Spec.Networking.MasterPort = new(int32(port))
			return
		}
	}
	s.warn(lineOf(line, name), "is left out: the operator sets it")
}

// reserved variables are those that the operator sets for the framework.
func (s *slurm) reserved() []string {
	f, _ := framework.Get(string(s.job.Spec.Framework))
	return f.Reserved(false)
}

func (s *slurm) setEnv(name, value string) {
	if slices.Contains(s.reserved(), name) || slices.ContainsFunc(s.env, func(e corev1.EnvVar) bool {
		return e.Name == name
	}) {
		return
	}
	s.env = append(s.env, variable(name, escaped(value, nil)))
}
