package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// The conditions below are history.Namespace.Holds in SQL. The column since has the time of a row: rows
// without a UID of a namespace are of a former one if they are older than the namespace.

// inNamespace returns a condition for one namespace, by which an index can be used.
func inNamespace(args *[]any, n history.Namespace, since string) string {
	*args = append(*args, n.Name)
	condition := fmt.Sprintf(` AND namespace = $%d`, len(*args))
	if n.UID == "" {
		return condition
	}
	*args = append(*args, string(n.UID))
	return condition + fmt.Sprintf(` AND (namespace_uid = $%d OR namespace_uid = '' AND %s >= %d)`, len(*args),
		since, n.Created.Unix())
}

// joinNamespaces returns a join with many namespaces; empty for nil, which means all.
func joinNamespaces(args *[]any, all []history.Namespace, since string) string {
	if all == nil {
		return ""
	}
	rows := make([]string, 0, len(all))
	for _, n := range uniqueNamespaces(all) {
		*args = append(*args, n.Name, string(n.UID))
		rows = append(rows, fmt.Sprintf("($%d, $%d, %d)", len(*args)-1, len(*args), n.Created.Unix()))
	}
	return ` JOIN (VALUES ` + strings.Join(rows, ", ") + `) AS allowed ON allowed.column1 = namespace
		AND (allowed.column2 IN ('', namespace_uid) OR namespace_uid = '' AND ` + since + ` >= allowed.column3)`
}

// uniqueNamespaces sorts namespaces, and returns one with each name.
func uniqueNamespaces(all []history.Namespace) []history.Namespace {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b history.Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b history.Namespace) bool { return a.Name == b.Name })
}
