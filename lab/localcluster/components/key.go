package components

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// key is the name of the component's folder in the cache. It changes with everything that can change what
// is in the folder. toolchain is the version and the platform of go.
func (c component) key(modules, toolchain string) (string, error) {
	hash := sha256.New()
	files := []string{"go.mod", "go.sum"}
	for _, name := range c.packages() {
		if own, ok := strings.CutPrefix(name, ownModules+c.name+"/"); ok { // a program of ours
			files = append(files, filepath.Join(own, "main.go"))
		}
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(modules, c.name, file))
		if err != nil {
			return "", fmt.Errorf("reading the module file of %s: %w", c.name, err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(content), content)
	}
	fmt.Fprintf(hash, "%s\n%v\n%s\n", toolchain, c, strings.Join(linkFlags("VERSION"), " "))
	for _, e := range sourceEdits(c.name) {
		fmt.Fprintf(hash, "%q\n", e)
	}
	return c.name + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}
