package chart

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// key is one key of the configuration that holds a value and no other keys.
type key struct {
	path []string
	of   reflect.Type
}

func (k key) String() string { return strings.Join(k.path, ".") }

// keysOf returns the keys of a struct of pkg/config.
func keysOf(t reflect.Type, at ...string) []key {
	var keys []key
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		path := append(append([]string{}, at...), name)
		if of := t.Field(i).Type; of.Kind() == reflect.Struct {
			keys = append(keys, keysOf(of, path...)...)
		} else {
			keys = append(keys, key{path, of})
		}
	}
	return keys
}

// probes are values of a type, good ones and bad ones: the schema and the operator must agree about each.
func probes(of reflect.Type) []any {
	switch of {
	case reflect.TypeFor[int]():
		return []any{-1, 0, 1, 10, 11, 59, 60, 100, 101, 3600, 3601, 86400, 86401, 1.5, "1", nil}
	case reflect.TypeFor[bool]():
		return []any{true, false, "true", 1}
	case reflect.TypeFor[config.PreemptionMode]():
		return []any{"Off", "DryRun", "Broker", "off", "false", "", true, false, 0, nil}
	case reflect.TypeFor[config.BackfillMode]():
		return []any{"Off", "DryRun", "Reserve", "off", "", true, false, 0, nil}
	case reflect.TypeFor[config.LivenessMode]():
		return []any{"Off", "Warn", "Act", "off", "", true, 0, nil}
	case reflect.TypeFor[config.ForecastMode]():
		return []any{"Off", "On", "on", "true", "", true, false, 1, nil}
	case reflect.TypeFor[[]corev1.Toleration]():
		var list []any
		for _, text := range tolerations {
			var one any
			if err := yaml.Unmarshal([]byte(text), &one); err != nil {
				panic(err)
			}
			list = append(list, []any{one})
		}
		return append(list, []any{}, many(16, list[0].([]any)[0]), many(17, list[0].([]any)[0]))
	case reflect.TypeFor[[]string]():
		list := []any{[]any{}, many(101, "a"), []any{"team-a", "team-b"}, []any{"kueue", "kueue"}, "kueue"}
		for _, s := range texts {
			list = append(list, []any{s})
		}
		return append(list, []any{"kueue", "native"}, []any{"*/gpu", "!a/gpu"})
	}
	var list []any
	for _, s := range texts {
		list = append(list, s)
	}
	return list
}

func many(n int, of any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = of
	}
	return list
}

// texts that mean something to some key, and faults in them.
var texts = []string{
	"", "0", "a", "A_B", "-a", "a.b", "a..b", "a b", "ä", strings.Repeat("a", 63), strings.Repeat("a", 64),
	strings.Repeat("a", 253), strings.Repeat("a", 254), strings.Repeat("a", 501),
	"volcano", "kueue", "native", "coscheduling", "default", "detect", "present", "absent", "slurm",
	":8443", "localhost:6060", "127.0.0.1:6060", "127.0.0.300:6060", "10.0.0.1:6060", "[::1]:6060", "[::]:8443",
	"localhost", "localhost:", "a:b:c", "::1:80", "/certs", "/", "/a/../b", "/a/.", "/a/..b", "/a//b", "/a/",
	"certs",
	"/.a/...", "https://reports.example.com", "https://reports.example.com:9443/", "https://reports.example.com:0",
	"https://reports.example.com:65535", "https://reports.example.com:65536", "https://10.0.0.1:9443",
	"https://[fd00::1]:9443", "https://[fd00:::1]", "http://reports.example.com", "https://a/b", "https://a?b",
	"http://a:5000/b/v2.1/", "http://a/.b", "http://a//b", "ftp://a",
	"https://u@a", "https://Reports_1", "https://", "*/gpu", "!*/gpu", "gpu", "a/b/c", "example.com/[", "nvidia.com/mig-*",
	`example.com/\`, "!/", "/!", config.APIVersion, config.Kind, "registry.example.com/agent:1",
}

var tolerations = []string{
	"{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}", "{key: gpu}", "{operator: Exists}",
	"{key: gpu, value: a, operator: Equal}", "{key: gpu, value: a, operator: Exists}",
	"{key: gpu, value: 'a b'}", "{key: gpu, effect: Never}", "{key: gpu, operator: In}", "{key: '-'}",
	"{key: a/b/c}", "{key: '/a'}", "{key: A.B/c}", "{key: gpu, tolerationSeconds: 5}", "{key: ''}",
	"{key: gpu, effect: NoExecute, tolerationSeconds: 5}", "{key: gpu, effect: NoExecute}",
	"{key: gpu, nonsense: 1}",
}

// schemaOfValues is the chart's schema as it is written.
func schemaOfValues(t *testing.T) any {
	t.Helper()
	data, err := os.ReadFile(folder + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// aroundBounds are the bounds that a schema sets to numbers, and their neighbours.
func aroundBounds(t *testing.T, schema any) []any {
	t.Helper()
	var list []any
	switch s := schema.(type) {
	case map[string]any:
		for name, value := range s {
			if number, ok := value.(json.Number); ok && (name == "minimum" || name == "maximum") {
				n, err := number.Int64()
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, n-1, n, n+1)
			}
			list = append(list, aroundBounds(t, value)...)
		}
	case []any:
		for _, value := range s {
			list = append(list, aroundBounds(t, value)...)
		}
	}
	return list
}

// schemaOfConfiguration is the part of the chart's schema that is about the block config.
func schemaOfConfiguration(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document := schemaOfValues(t)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("values.schema.json#/properties/config")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func set(block map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		if block[name] == nil {
			block[name] = map[string]any{}
		}
		block = block[name].(map[string]any)
	}
	block[path[len(path)-1]] = value
}

// judge a block by the schema and by the operator's loader, to which the chart says what the file is.
func judge(t *testing.T, schema *jsonschema.Schema, block map[string]any) (bySchema, byLoader error) {
	t.Helper()
	text, err := json.Marshal(block)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	file := map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind}
	for k, v := range block {
		file[k] = v
	}
	if text, err = yaml.Marshal(file); err != nil {
		t.Fatal(err)
	}
	_, err = config.Parse(text)
	return schema.Validate(value), err
}

// reportsByChart are the keys that need what the chart fills in, and whose rule is at the root of the schema.
func reportsByChart(path string) bool {
	return path == "reports.bindAddress" || path == "liveness.mode"
}

// TestSchemaIsTheLoader checks for each key that the schema of the chart accepts exactly what the operator
// accepts.
func TestSchemaIsTheLoader(t *testing.T) {
	schema, bounds := schemaOfConfiguration(t), aroundBounds(t, schemaOfValues(t))
	if len(bounds) == 0 {
		t.Fatal("the schema bounds no number")
	}
	accepted := 0
	for _, k := range keysOf(reflect.TypeFor[config.OperatorConfiguration]()) {
		some := false
		values := probes(k.of)
		if k.of == reflect.TypeFor[int]() {
			values = append(values, bounds...)
		}
		for _, value := range values {
			block := map[string]any{}
			set(block, k.path, value)
			if reportsByChart(k.String()) { // without the rest the loader refuses it, rightly
				if k.String() != "reports.bindAddress" {
					set(block, []string{"reports", "bindAddress"}, ":9443")
					set(block, []string{"agent", "image"}, "registry.example.com/agent:1")
				}
				set(block, []string{"reports", "url"}, "https://reports.example.com")
				set(block, []string{"reports", "certificateDir"}, "/certs")
			}
			if k.String() == "backfill.mode" {
				set(block, []string{"preemption", "mode"}, "Broker")
			}
			bySchema, byLoader := judge(t, schema, block)
			if value == nil && bySchema != nil {
				continue // Helm drops a key whose value is null
			}
			if (bySchema == nil) != (byLoader == nil) {
				t.Errorf("%s: %#v\nschema: %v\nloader: %v", k, value, bySchema, byLoader)
			}
			some = some || bySchema == nil
		}
		if !some {
			t.Errorf("no probe of %s is accepted", k)
		}
		accepted++
	}
	if accepted < 30 {
		t.Errorf("only %d keys", accepted)
	}
}

// TestWhatTheSchemaAcceptsLoads: so it is with several keys at once, some of which demand something of
// others.
func TestWhatTheSchemaAcceptsLoads(t *testing.T) {
	const seed, blocks = 1, 20000
	schema, keys := schemaOfConfiguration(t), keysOf(reflect.TypeFor[config.OperatorConfiguration]())
	random := rand.New(rand.NewPCG(seed, seed))
	// Values that the schema accepts alone, so that few blocks are refused for one of them.
	good := map[string][]any{}
	for _, k := range keys {
		for _, value := range probes(k.of) {
			block := map[string]any{}
			set(block, k.path, value)
			if bySchema, _ := judge(t, schema, block); bySchema == nil && !reportsByChart(k.String()) {
				good[k.String()] = append(good[k.String()], value)
			}
		}
	}
	accepted, refused := 0, 0
	for range blocks {
		block := map[string]any{}
		for range 2 + random.IntN(4) {
			k := keys[random.IntN(len(keys))]
			if values := good[k.String()]; len(values) > 0 {
				set(block, k.path, values[random.IntN(len(values))])
			}
		}
		bySchema, byLoader := judge(t, schema, block)
		if (bySchema == nil) != (byLoader == nil) {
			t.Fatalf("%v\nschema: %v\nloader: %v", block, bySchema, byLoader)
		}
		if accepted++; bySchema != nil {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("only %d of %d blocks break a rule between keys", refused, accepted)
	}
}

// TestEveryKeyReachesTheFile checks for each key that the operator reads the value of the block config.
func TestEveryKeyReachesTheFile(t *testing.T) {
	data, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct{ Config map[string]any }
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	all := parse(t, mustRender(t, string(data)))
	text, err := yaml.Marshal(configurationOf(t, all))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, k := range keysOf(reflect.TypeFor[config.OperatorConfiguration]()) {
		want, isSet := get(values.Config, k.path)
		got, _ := get(file, k.path)
		if diff := cmp.Diff(want, got); !isSet || diff != "" {
			t.Errorf("%s, set in testdata/everything.yaml: %t (-set +read):\n%s", k, isSet, diff)
		}
		if ordinary, _ := get(defaults(t), k.path); cmp.Equal(ordinary, got) && !onlyOneValue[k.String()] {
			t.Errorf("%s has its default, so that it proves nothing", k)
		}
	}
}

// onlyOneValue have those keys in any file, or in one with testdata/everything.yaml's other values.
var onlyOneValue = map[string]bool{"apiVersion": true, "kind": true, "metrics.secure": true}

func defaults(t *testing.T) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func get(block map[string]any, path []string) (any, bool) {
	for _, name := range path[:len(path)-1] {
		block, _ = block[name].(map[string]any)
	}
	value, ok := block[path[len(path)-1]]
	return value, ok
}

// TestWhatTheChartFillsIn, and that an admin's own word counts instead.
func TestWhatTheChartFillsIn(t *testing.T) {
	const agent = "agentImage: {repository: registry.example.com/agent, tag: '2'}\n"
	c := configurationOf(t, parse(t, mustRender(t, reportsOn, metricsOn, agent)))
	if c.Agent.Image != "registry.example.com/agent:2" ||
		c.Metrics.CertificateDir != "/etc/trainingjob-metrics" ||
		c.Reports.URL != "https://trainingjob-reports."+namespace+".svc:9443" || c.Reports.BindAddress != ":9443" ||
		c.Reports.CertificateDir != "/etc/trainingjob-reports" {
		t.Errorf("got %+v", c)
	}
	if c = configurationOf(t, parse(t, mustRender(t, "config: {metrics: {secure: false}}"))); c.Metrics.Secure {
		t.Error("metrics.secure does not reach the file")
	}
	c = configurationOf(t, parse(t, mustRender(t, reportsOn, agent, "config: {agent: {image: other:1}, "+
		"reports: {url: 'https://reports.example.com', bindAddress: ':9999'}}")))
	if c.Agent.Image != "other:1" || c.Reports.URL != "https://reports.example.com" ||
		c.Reports.BindAddress != ":9999" {
		t.Errorf("got %+v", c)
	}
}
