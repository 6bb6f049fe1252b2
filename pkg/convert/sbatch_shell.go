package convert

import (
	"errors"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// This file reads and writes shell code. It knows nothing of Slurm.

// parseShell reads shell code.
func parseShell(text string) ([]*syntax.Stmt, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	return file.Stmts, notDeep(file)
}

// maxDepth of shell code, in nodes of the parser: a command in ten substitutions has about 60.
const maxDepth = 300

// notDeep fails for code that is nested beyond maxDepth, which would take minutes to work on.
func notDeep(node syntax.Node) error {
	depth, deepest := 0, 0
	syntax.Walk(node, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		deepest = max(deepest, depth)
		return true
	})
	if deepest > maxDepth {
		return errors.New("its commands are nested too deeply")
	}
	return nil
}

// shellText writes a part of shell code.
func shellText(node syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.Indent(2)).Print(&b, node); err != nil {
		return "" // a Builder does not fail, and all nodes can be printed
	}
	return strings.TrimSpace(b.String())
}

// shellWords splits text as the shell splits what a variable has.
func shellWords(text string) ([]*syntax.Word, error) {
	var words []*syntax.Word
	for word, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).WordsSeq(strings.NewReader(text)) {
		if err == nil {
			err = notDeep(word)
		}
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// wordOf reads one word of shell code that the program has written itself.
func wordOf(text string) *syntax.Word {
	words, err := shellWords(text)
	if err != nil || len(words) != 1 {
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
	}
	return words[0]
}

// literal returns the value of a word, and false if the shell would expand it. variable returns what stands
// for a variable in a command without a shell, and false for one that is not known.
func literal(word *syntax.Word, variable func(name string, quoted bool) (string, bool)) (string, bool) {
	if word == nil {
		return "", true
	}
	var b strings.Builder
	ok := literalParts(&b, word.Parts, false, variable)
	return b.String(), ok
}

// maxLiteral bounds a word whose variables are replaced, in bytes.
const maxLiteral = 8 << 10

func literalParts(
	b *strings.Builder, parts []syntax.WordPart, quoted bool, variable func(string, bool) (string, bool),
) bool {
	for i, part := range parts {
		if b.Len() > maxLiteral {
			return false
		}
		switch part := part.(type) {
		case *syntax.Lit:
			if !literalText(b, part.Value, quoted, i == 0) {
				return false
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar || !literalParts(b, part.Parts, true, variable) {
				return false
			}
		case *syntax.ParamExp:
			name, simple := simpleVariable(part)
			value, known := variable(name, quoted)
			if !simple || !known {
				return false
			}
			b.WriteString(value)
		default:
			return false
		}
	}
	return true
}

// literalText writes text without its backslashes.
func literalText(b *strings.Builder, text string, quoted, first bool) bool {
	if !quoted && (strings.ContainsAny(text, "*?[{") || first && strings.HasPrefix(text, "~")) {
		return false
	}
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			next := text[i+1]
			if quoted && !strings.ContainsRune("$`\"\\\n", rune(next)) {
				b.WriteByte('\\')
			}
			i++
			if next == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return true
}

// simpleVariable returns the name in $NAME or ${NAME}.
func simpleVariable(p *syntax.ParamExp) (string, bool) {
	simple := p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil &&
		p.Slice == nil &&
		p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0 && p.NestedParam == nil &&
		p.Flags == nil
	if p.Param == nil {
		return "", false
	}
	return p.Param.Value, simple
}

// noVariables stands for no variable.
func noVariables(string, bool) (string, bool) { return "", false }

// program returns the base name of a command's program, also of $(which NAME). Empty: the shell would expand
// it.
func program(words []*syntax.Word) string {
	if len(words) == 0 {
		return ""
	}
	if name, ok := literal(words[0], noVariables); ok {
		return path.Base(name)
	}
	if len(words[0].Parts) != 1 {
		return ""
	}
	found, is := words[0].Parts[0].(*syntax.CmdSubst)
	if !is || len(found.Stmts) != 1 {
		return ""
	}
	call, is := found.Stmts[0].Cmd.(*syntax.CallExpr)
	if !is || len(call.Args) != 2 || shellText(call.Args[0]) != "which" {
		return ""
	}
	name, _ := literal(call.Args[1], noVariables)
	return path.Base(name)
}

// callsIn lists the simple commands in a part of a script, at any depth.
func callsIn(node syntax.Node) []*syntax.CallExpr {
	var calls []*syntax.CallExpr
	for n := range syntax.Preorder(node) {
		if call, is := n.(*syntax.CallExpr); is && len(call.Args) > 0 {
			calls = append(calls, call)
		}
	}
	return calls
}

// runsAny reports whether a part of a script runs one of some programs.
func runsAny(node syntax.Node, programs ...string) bool {
	return slices.ContainsFunc(callsIn(node), func(call *syntax.CallExpr) bool {
		return slices.Contains(programs, program(call.Args))
	})
}

// pipeline lists the commands of a pipeline; nil if it has others than simple ones.
func pipeline(stmt *syntax.Stmt) []*syntax.CallExpr {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return []*syntax.CallExpr{cmd}
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			before, after := pipeline(cmd.X), pipeline(cmd.Y)
			if before != nil && after != nil {
				return append(before, after...)
			}
		}
	}
	return nil
}

// assignments of a statement that has nothing else. exported: export or declare -x.
func assignments(stmt *syntax.Stmt) (all []*syntax.Assign, exported, is bool) {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return cmd.Assigns, false, len(cmd.Args) == 0 && len(cmd.Assigns) > 0
	case *syntax.DeclClause:
		return cmd.Args, cmd.Variant.Value == "export", cmd.Variant.Value != "local"
	}
	return nil, false, false
}

// quotedText returns the text of a word without the quotes that the shell removes, with its expansions.
func quotedText(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			text := shellText(&syntax.Word{Parts: []syntax.WordPart{part}})
			text = strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
			b.WriteString(strings.NewReplacer(`\"`, `"`, `\$`, `$`, `\\`, `\`, "\\`", "`").Replace(text))
		default:
			b.WriteString(shellText(&syntax.Word{Parts: []syntax.WordPart{part}}))
		}
	}
	return b.String()
}
