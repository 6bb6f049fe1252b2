//go:build cluster

package mlflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRealLimits checks the limits that the exporter keeps against those of MLflow's release.
func TestRealLimits(t *testing.T) {
	server := startReal(t)
	experiment, err := server.client.experimentID(t.Context(), "team-a")
	if err != nil {
		t.Fatal(err)
	}
	id, err := server.client.createRun(t.Context(), experiment, &description{name: "bert", start: noon})
	if err != nil {
		t.Fatal(err)
	}
	key := func(i int) string { return fmt.Sprintf("%0*d", maxKey, i) }
	parameters := func(n int) (all []pair) {
		for i := range n {
			all = append(all, pair{key(i), strings.Repeat("p", maxParameter)})
		}
		return all
	}
	metrics := func(n int) (all []measurement) {
		for i := range n {
			all = append(all, measurement{Key: key(i), Value: 1.0, Timestamp: noon.UnixMilli()})
		}
		return all
	}
	tag := pair{key(0), strings.Repeat("é", maxTag)}
	for name, tc := range map[string]struct {
		params, tags []pair
		metrics      []measurement
		refused      bool
	}{
		"parameters":          {params: parameters(maxParameters)},
		"too many parameters": {params: parameters(maxParameters + 1), refused: true},
		"a tag":               {tags: []pair{tag}},
		"metrics":             {metrics: metrics(maxMetrics)},
		"too many metrics":    {metrics: metrics(maxMetrics + 1), refused: true},
		"a long key":          {params: []pair{{"k" + key(0), "1"}}, refused: true},
	} {
		err := server.client.logBatch(t.Context(), id, tc.params, tc.tags, tc.metrics)
		if isRefused(err) != tc.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	runs := server.runs("team-a")
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	data := runs[0].Data
	cut := func(p pair) bool { return len(p.Value) != maxParameter }
	if len(data.Params) != maxParameters || slices.ContainsFunc(data.Params, cut) ||
		len(data.Metrics) != maxMetrics || !slices.Contains(data.Tags, tag) {
		t.Errorf("%d parameters, %d metrics, tags %v", len(data.Params), len(data.Metrics), data.Tags)
	}
}
