package localcluster

import (
	"path/filepath"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// DefaultDir is the directory of the cluster that commands use when none is named, below the root of the
// repository.
const DefaultDir = ".localcluster"

// Command is a command line of bin/localcluster for the cluster in dir, an absolute path: what messages
// name as a remedy. It works when pasted into a shell at the root of the repository.
func Command(dir string, words ...string) string {
	words = append([]string{"bin/localcluster"}, words...)
	if dir = fromRoot(dir); dir != DefaultDir {
		words = append(words, "--dir", quote(dir))
	}
	return strings.Join(words, " ")
}

// DownCommand is the command that takes the cluster in dir down.
func DownCommand(dir string) string { return Command(dir, "down") }

// fromRoot shortens an absolute path that is below the root of the repository.
func fromRoot(path string) string {
	root, err := components.FindRoot()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// quote quotes a word for a shell, where it needs that.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
