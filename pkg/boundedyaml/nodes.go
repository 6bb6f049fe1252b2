package boundedyaml

import "fmt"

// MaxNodes is the maximum number of nodes of one input, by the estimate of Nodes. Decoding them takes about
// 65 MB in the most expensive shape.
const MaxNodes = 200_000

// Nodes returns an upper bound for the nodes and comments of a document in YAML or JSON, without allocating
// memory. The memory of every library grows with the nodes: a list of a million empty values has two
// megabytes, and takes hundreds. Each node begins after one of YAML's indicators, and an indicator begins at
// most two nodes, such as a key and its value. Indicators inside of texts count too.
func Nodes(document []byte) int {
	indicators := 0
	for i, c := range document {
		switch c {
		case ',', ':', '[', '{', '#', '?': // in a flow, "?" needs no blank after it
			indicators++
		case '-':
			if i+1 == len(document) || separates(document[i+1]) {
				indicators++
			}
		}
	}
	return 2 + 2*indicators
}

// Weight returns the maximum number of nodes of a decoded document: Nodes, or MaxNodes if the document can
// have an alias, because an alias adds nodes.
func Weight(document []byte) int {
	if mayHaveAlias(document) {
		return MaxNodes
	}
	return min(Nodes(document), MaxNodes)
}

// mayHaveAlias returns false only if a document has no alias. A text such as "a *b" counts as one.
func mayHaveAlias(document []byte) bool {
	for i, c := range document {
		if c != '*' || i+1 < len(document) && !beginsName(document[i+1]) {
			continue
		}
		if i == 0 || separates(document[i-1]) {
			return true
		}
		switch document[i-1] {
		case '[', '{', ',', ':':
			return true
		}
	}
	return false
}

// separates reports whether a byte can be part of a blank or a line break, in UTF-8 or UTF-16.
func separates(c byte) bool { return c <= ' ' || c >= 0x7f }

// beginsName reports whether a byte can be the first of an alias's name, in UTF-8 or UTF-16.
func beginsName(c byte) bool {
	return c == 0 || c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x7f
}

// errNodes returns the error for too many nodes.
func errNodes(most int) error {
	return fmt.Errorf("the input has more than %d values: send fewer", most)
}
