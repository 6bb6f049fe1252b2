package convert

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// This file replaces what finds the nodes of a job.

// leader is the address of the first rank in the shell.
func (s *slurm) leader() string {
	if s.job.Spec.Framework == v1alpha1.FrameworkPyTorch {
		return "$MASTER_ADDR"
	}
	role := v1alpha1.RoleWorker
	if s.job.Spec.Framework == v1alpha1.FrameworkMPI {
		role = v1alpha1.RoleLauncher
	}
	return spec.RankHost(s.job.Name, spec.RankRef{Role: role})
}

// replaceHosts puts the leader's address in the place of commands that find the first node of the job.
func (s *slurm) replaceHosts(node syntax.Node) {
	replace := func(parts []syntax.WordPart) {
		for i, part := range parts {
			switch part := part.(type) {
			case *syntax.CmdSubst:
				if text := s.hostsOf(part); text != "" {
					parts[i] = wordOf(text).Parts[0]
				}
			case *syntax.ParamExp:
				if part.Param != nil && part.Length && s.hostLists[part.Param.Value] {
					parts[i] = wordOf("$SLURM_NNODES").Parts[0]
				}
			}
		}
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Array != nil && s.listsHosts(n.Array) {
				s.hostLists[n.Name.Value] = true
			}
		case *syntax.Word:
			replace(n.Parts)
		case *syntax.DblQuoted:
			replace(n.Parts)
		}
		return true
	})
}

// listsHosts reports whether an array has the names of all nodes.
func (s *slurm) listsHosts(node syntax.Node) bool {
	for n := range syntax.Preorder(node) {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if runsAny(n, "scontrol") {
				return true
			}
		case *syntax.ParamExp:
			if n.Param != nil && s.hostLists[n.Param.Value] {
				return true
			}
		}
	}
	return false
}

var nodeList = regexp.MustCompile(`SLURM_(JOB_|STEP_)?NODELIST`)

// hostsOf is what stands for a substitution that finds nodes: the leader's address, or the number of nodes.
// Empty: it does something else.
func (s *slurm) hostsOf(substitution *syntax.CmdSubst) string {
	if len(substitution.Stmts) != 1 {
		return ""
	}
	calls := pipeline(substitution.Stmts[0])
	if len(calls) == 0 || len(calls[0].Args) == 0 {
		return ""
	}
	text := shellText(substitution.Stmts[0])
	switch name := program(calls[0].Args); {
	case name == "scontrol" && strings.Contains(text, "show host"):
	case name == "srun" && strings.Contains(text, "hostname"):
	case name == "hostname" && s.nodes > 1:
	case nodeList.MatchString(text) && !slices.Contains([]string{"scontrol", "srun"}, name):
	default:
		return ""
	}
	if strings.HasPrefix(shellText(calls[len(calls)-1]), "wc") {
		return "$SLURM_NNODES"
	}
	return s.leader()
}
