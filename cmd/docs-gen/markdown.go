package main

import (
	"fmt"
	"io"
	"strings"
)

// writeTable writes a Markdown table. A cell may hold any text.
func writeTable(out io.Writer, header []string, rows [][]string) error {
	var b strings.Builder
	writeRow(&b, header)
	writeRow(&b, strings.Split(strings.Repeat("--- ", len(header)-1)+"---", " "))
	for _, row := range rows {
		writeRow(&b, row)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func writeRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		cell = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
		fmt.Fprintf(b, "| %s ", cell)
	}
	b.WriteString("|\n")
}

func code(text string) string { return "`" + text + "`" }
