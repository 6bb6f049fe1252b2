package workload

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ofTrace leaves of a workload what a trace says.
type ofTrace struct {
	Gangs                       []Gang
	LeftOut, Changed, FirstLine map[string]int
}

func readTrace(t *testing.T, csv string, o TraceOptions) ofTrace {
	t.Helper()
	w, err := ReadTrace(strings.NewReader(csv), "t.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	return ofTrace{w.Gangs, w.LeftOut, w.Changed, w.FirstLine}
}

// small cluster of 4 nodes of 8 GPUs.
func small(change func(*TraceOptions)) TraceOptions {
	o := TraceOptions{Nodes: 4, GPUsPerNode: 8}
	if change != nil {
		change(&o)
	}
	return o
}

// TestReadTraceLayouts plays a file of each layout, 60 times as fast.
func TestReadTraceLayouts(t *testing.T) {
	tests := map[string]struct {
		reason string
		want   Workload
	}{
		"muri.csv": {"times are in ms, priority 1 is opportunistic", Workload{
			Name: "muri", Gangs: []Gang{
				{Name: "job-0", Ranks: 16, GPUs: 1, Priority: PriorityNormal, Train: 10 * time.Second},
				{Name: "job-1", Ranks: 1, GPUs: 1, Priority: PriorityLow, At: time.Second, Train: 500 * time.Millisecond},
				{Name: "job-2", Ranks: 4, GPUs: 1, Priority: PriorityNormal, At: time.Second, Train: 2 * time.Minute},
			},
			LeftOut: map[string]int{LeftOutLarger: 1}, Changed: map[string]int{},
			FirstLine: map[string]int{LeftOutLarger: 5}, Cut: 690 * time.Second,
		}},
		"chronus.csv": {"times are in minutes, best effort is low, rows are in no order", Workload{
			Name: "chronus", Gangs: []Gang{
				{Name: "job-1", Ranks: 8, GPUs: 1, Priority: PriorityLow, Train: 20 * time.Second},
				{Name: "job-3", Ranks: 2, GPUs: 1, Priority: PriorityNormal, At: 10 * time.Second,
					Train: 1500 * time.Millisecond},
				{Name: "job-0", Ranks: 1, GPUs: 1, Priority: PriorityNormal, At: 20 * time.Second,
					Train: 10 * time.Second},
			},
			LeftOut: map[string]int{LeftOutGPUs: 1}, Changed: map[string]int{ChangedOrder: 2},
			FirstLine: map[string]int{LeftOutGPUs: 4, ChangedOrder: 3}, Cut: 250 * time.Second,
		}},
		"simple.csv": {"times are in seconds, an empty priority is normal", Workload{
			Name: "simple", Gangs: []Gang{
				{Name: "job-resnet", Ranks: 8, GPUs: 1, Priority: PriorityLow, Train: time.Minute},
				{Name: "job-bert-large", Ranks: 32, GPUs: 1, Priority: PriorityHigh, At: 10 * time.Second,
					Train: 2 * time.Minute},
				{Name: "job-probe", Ranks: 1, GPUs: 1, Priority: PriorityNormal, At: 11008333333,
					Train: 1500 * time.Millisecond},
			},
			LeftOut: map[string]int{}, Changed: map[string]int{}, FirstLine: map[string]int{},
			Cut: 1160 * time.Second,
		}},
	}
	for file, tc := range tests {
		t.Run(file, func(t *testing.T) {
			from, err := os.Open("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			got, err := ReadTrace(from, "some/where/"+file, small(func(o *TraceOptions) { o.Compress = 60 }))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Nodes, tc.want.GPUsPerNode, tc.want.End = 4, 8, EndFinished
			tc.want.Question = fmt.Sprintf("How long do the jobs of %s wait, 60 times as fast?", file)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

const header = "job,ranks,submit_seconds,duration_seconds,priority\n"

// TestReadTraceRows: what becomes of single rows, below one that is good.
func TestReadTraceRows(t *testing.T) {
	tests := map[string]struct{ reason, rows, leftOut, changed string }{
		"a column too few":     {"which is missing is not known", "b,1,0,9", LeftOutColumns, ""},
		"a column too many":    {"which is too much is not known", "b,1,0,9,low,x", LeftOutColumns, ""},
		"an open quote":        {"it does not swallow what follows", "\"b,1,0,9,low", LeftOutColumns, ""},
		"words for ranks":      {"it is no number", "b,two,0,9,low", LeftOutNumber, ""},
		"nothing for ranks":    {"it is no number", "b,,0,9,low", LeftOutNumber, ""},
		"half a rank":          {"ranks are whole", "b,1.5,0,9,low", LeftOutNumber, ""},
		"negative ranks":       {"there are none", "b,-1,0,9,low", LeftOutNumber, ""},
		"submitted before all": {"times count from 0", "b,1,-1,9,low", LeftOutNumber, ""},
		"not a number":         {"it compares with nothing", "b,1,NaN,9,low", LeftOutNumber, ""},
		"infinite":             {"it would never end", "b,1,0,Inf,low", LeftOutNumber, ""},
		"ten thousand years":   {"it is a mistake", "b,1,0,315576000000,low", LeftOutNumber, ""},
		"no ranks":             {"jobs without GPUs are no gangs", "b,0,0,9,low", LeftOutGPUs, ""},
		"no duration":          {"zero would mean forever", "b,1,0,0,low", LeftOutDuration, ""},
		"unknown priority":     {"there is no such class", "b,1,0,9,urgent", LeftOutPriority, ""},
		"there before":         {"the first counts", "a,2,0,9,low", LeftOutDuplicate, ""},
		"too large":            {"it would wait forever", "b,33,0,9,low", LeftOutLarger, ""},
		"short":                {"99 ms is too short to measure", "b,1,5,0.099,low", "", ChangedShort},
		"late":                 {"its place in the file is not its time", "b,1,4,9,low", "", ChangedOrder},
		"good":                 {"spaces and exponents are fine", " b , 1.0 , 5 , 9e0 , LOW ", "", ""},
		"as large as it gets":  {"it just fits", "b,32,5,9,low", "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := readTrace(t, header+"a,1,5,9,low\n\n"+tc.rows+"\n", small(nil))
			want := ofTrace{LeftOut: map[string]int{}, Changed: map[string]int{}, FirstLine: map[string]int{}}
			if tc.leftOut != "" {
				want.LeftOut[tc.leftOut], want.FirstLine[tc.leftOut] = 1, 4
			}
			if tc.changed != "" {
				want.Changed[tc.changed], want.FirstLine[tc.changed] = 1, 4
			}
			gangs := len(got.Gangs)
			got.Gangs = nil
			if diff := cmp.Diff(want, got); diff != "" || gangs != 2-len(want.LeftOut) {
				t.Errorf("%s: %d gangs (-want +got):\n%s", tc.reason, gangs, diff)
			}
		})
	}
}

// TestReadTraceOptions: names of gangs and numbers of left out rows of a trace of six rows.
func TestReadTraceOptions(t *testing.T) {
	const rows = "a,1,60,100,low\nb,1,30,200,\nbad,0,0,0,\nc,1,10,300,\nd,1,40,400,\nE,1,50,50,\n"
	tests := map[string]struct {
		reason        string
		o             TraceOptions
		gangs         string // name@submission+training/checkpoint
		left, changed map[string]int
	}{
		"all": {"sorted, from 0 on, with names from ids that make a label", small(nil),
			"job-c@0s+5m0s/0s job-b@20s+3m20s/0s job-d@30s+6m40s/0s line-7@40s+50s/0s job-a@50s+1m40s/0s",
			map[string]int{LeftOutGPUs: 1}, map[string]int{ChangedOrder: 4}},
		"a window": {"of the rows that can be used, by their submission",
			small(func(o *TraceOptions) { o.First, o.Rows = 1, 2 }), "job-b@0s+3m20s/0s job-d@10s+6m40s/0s",
			map[string]int{LeftOutGPUs: 1, LeftOutWindow: 3}, map[string]int{ChangedOrder: 2}},
		"from a row on": {"without a number of rows all that follow",
			small(func(o *TraceOptions) { o.First = 4 }), "job-a@0s+1m40s/0s",
			map[string]int{LeftOutGPUs: 1, LeftOutWindow: 4}, map[string]int{}},
		"a window past the end": {"as many as there are",
			small(func(o *TraceOptions) { o.First, o.Rows = 4, math.MaxInt }), "job-a@0s+1m40s/0s",
			map[string]int{LeftOutGPUs: 1, LeftOutWindow: 4}, map[string]int{}},
		"drawn": {"two by the seed, and they keep their times apart",
			small(func(o *TraceOptions) { o.MaxGangs, o.Seed = 2, 3 }), "job-d@0s+6m40s/0s job-a@20s+1m40s/0s",
			map[string]int{LeftOutGPUs: 1, LeftOutSample: 3}, map[string]int{ChangedOrder: 1}},
		"compressed": {"all times by the same factor, checkpoints too", small(func(o *TraceOptions) {
			o.Compress, o.Checkpoint, o.First, o.Rows = 10, 20*time.Second, 1, 2
		}), "job-b@0s+20s/2s job-d@1s+40s/2s",
			map[string]int{LeftOutGPUs: 1, LeftOutWindow: 3}, map[string]int{ChangedOrder: 2}},
		"capped": {"before compression", small(func(o *TraceOptions) {
			o.Compress, o.Longest, o.First, o.Rows = 10, 200*time.Second, 1, 2
		}), "job-b@0s+20s/0s job-d@1s+20s/0s",
			map[string]int{LeftOutGPUs: 1, LeftOutWindow: 3}, map[string]int{ChangedOrder: 2, ChangedCap: 1}},
		"compressed a lot": {"neither training nor checkpoints vanish", small(func(o *TraceOptions) {
			o.Compress, o.Checkpoint, o.First = 1e9, time.Second, 4
		}), "job-a@0s+100ms/100ms",
			map[string]int{LeftOutGPUs: 1, LeftOutWindow: 4}, map[string]int{ChangedShort: 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := readTrace(t, header+rows, tc.o)
			var gangs []string
			for _, g := range got.Gangs {
				gangs = append(gangs, fmt.Sprintf("%s@%s+%s/%s", g.Name, g.At, g.Train, g.Checkpoint))
			}
			if diff := cmp.Diff(tc.gangs, strings.Join(gangs, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			want := ofTrace{LeftOut: tc.left, Changed: tc.changed}
			got.Gangs, got.FirstLine = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadTraceEncodings: the same file as several systems write it.
func TestReadTraceEncodings(t *testing.T) {
	const plain = header + "a,1,5,9,low\nb,2,6,9,high\n"
	want := readTrace(t, plain, small(nil))
	for reason, csv := range map[string]string{
		"a byte order mark":      byteOrderMark + plain,
		"CRLF":                   strings.ReplaceAll(plain, "\n", "\r\n"),
		"no line end at the end": strings.TrimSuffix(plain, "\n"),
		"quotes":                 strings.ReplaceAll(plain, "a,1,", `"a","1",`),
		"names in capitals":      strings.ToUpper(header) + strings.TrimPrefix(plain, header),
		"gpus instead of ranks":  strings.Replace(plain, "ranks", "gpus", 1),
		"a column of another use": "x,job,ranks,submit_seconds,duration_seconds,priority\n" +
			",a,1,5,9,low\n,b,2,6,9,high\n",
		"columns in another order": "priority,duration_seconds,job,ranks,submit_seconds\n" +
			"low,9,a,1,5\nhigh,9,b,2,6\n",
	} {
		t.Run(reason, func(t *testing.T) {
			if diff := cmp.Diff(want, readTrace(t, csv, small(nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadTraceRefuses what cannot be used as a whole, by file, line and column.
func TestReadTraceRefuses(t *testing.T) {
	const row = "a,1,5,9,low\n"
	long := strings.Repeat("x", maxLine)
	tests := map[string]struct {
		reason, csv string
		o           TraceOptions
		want        string
	}{
		"empty": {"there is no header", "", small(nil),
			"t.csv:1: the file is empty: give it a header and a row for each job"},
		"nothing but lines": {"there is no header", "\n# a comment\n \n", small(nil), "t.csv:3: the file is empty"},
		"no rows": {"there is nothing to play", header, small(nil),
			"t.csv: none of its rows is played: 0 can be used"},
		"no row of use": {"the error has the reasons", header + "a,0,5,9,low\nb,0,5,9,low\n", small(nil),
			"; 2 left out from line 2 on: no GPUs"},
		"a window after the end": {"the error has the number of rows", header + row,
			small(func(o *TraceOptions) { o.First = 7 }), "1 can be used, and the window begins at row 7"},
		"no duration": {"the missing column is named", "job,ranks,submit_seconds\n", small(nil),
			"t.csv:1: duration_seconds: the column is missing: the simple layout needs job, ranks, submit_seconds, " +
				"duration_seconds; the column iteration_time identifies the Muri layout; the column best_effort " +
				"identifies"},
		"units not known": {"it could be Muri's or Chronus'", "job_id,num_gpu,submit_time,duration\n", small(nil),
			"t.csv:1: job: the column is missing: the simple layout needs"},
		"Muri without GPUs": {"the error names its own layout", "\njob_id,submit_time,duration,iteration_time\n",
			small(nil),
			"t.csv:2: num_gpu: the column is missing: the Muri layout needs job_id, num_gpu, submit_time, duration;"},
		"two layouts": {"times have one unit", "iteration_time,best_effort\n", small(nil),
			"t.csv:1: best_effort: only the Chronus layout has this column, and only the Muri layout has"},
		"ranks and gpus": {"they could differ", "job,ranks,gpus,submit_seconds,duration_seconds\n", small(nil),
			"t.csv:1: gpus: each rank has one GPU, so ranks says it already"},
		"a column twice": {"which counts is not known", "job,ranks,Job ,submit_seconds\n", small(nil),
			"t.csv:1: job: the column is there twice"},
		"not CSV": {"a quote is open", "job,\"ranks\n", small(nil), "t.csv:1: header: it is no CSV"},
		"binary": {"a compressed file, say", "\x1f\x8b\x08\x00\n", small(nil),
			"t.csv:1: job: the column is missing"},
		"a huge line": {"memory has a bound", header + row + long, small(nil),
			"t.csv:3: the line has more than 65536 bytes"},
		"a huge header": {"memory has a bound", long, small(nil), "t.csv:1: the line has more than"},
		"an age": {"a week is the bound", header + row + "b,1,5,604801,low\n", small(nil),
			"t.csv:3: duration_seconds: is 168 h: compress by more than 1, or bound the longest duration"},
		"an age apart": {"a week is the bound", header + row + "b,1,1209601,6,low\n",
			small(func(o *TraceOptions) { o.Compress = 1.5 }),
			"t.csv:3: submit_seconds: is 224 h after the first gang: compress by more than 1.5, or take a smaller"},
		"no nodes": {"nothing fits", header + row, TraceOptions{},
			"playing t.csv: the cluster has 0 nodes: give it"},
		"no GPUs": {"nothing fits", header + row, TraceOptions{Nodes: 1},
			"playing t.csv: a node has 0 GPUs"},
		"too many nodes": {"a slip", "", TraceOptions{Nodes: MaxNodes + 1}, "the cluster has 20001 nodes"},
		"too many GPUs":  {"a slip", "", TraceOptions{Nodes: 1, GPUsPerNode: 65}, "a node has 65 GPUs"},
		"slower": {"a slip", "", small(func(o *TraceOptions) { o.Compress = 0.5 }),
			"the compression is 0.5"},
		"no number": {"it would spread", "", small(func(o *TraceOptions) { o.Compress = math.NaN() }),
			"is NaN"},
		"a window before": {"rows count from 0", "", small(func(o *TraceOptions) { o.First = -1 }), "from row -1"},
		"negative rows":   {"zero means all", "", small(func(o *TraceOptions) { o.Rows = -1 }), "is -1 rows"},
		"negative gangs": {"zero means all", "", small(func(o *TraceOptions) { o.MaxGangs = -1 }),
			"at most -1 gangs"},
		"a negative cap": {"zero means none", "", small(func(o *TraceOptions) { o.Longest = -1 }),
			"duration is -1ns"},
		"negative interval": {"zero means never", "", small(func(o *TraceOptions) { o.Checkpoint = -1 }),
			"interval is -1ns"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTrace(strings.NewReader(tc.csv), "t.csv", tc.o)
			wantError(t, tc.reason, err, tc.want)
		})
	}
}

// TestReadTraceReportsReader: an error of the disk is not the end of the file.
func TestReadTraceReportsReader(t *testing.T) {
	disk := errors.New("disk on fire")
	_, err := ReadTrace(iotest.ErrReader(disk), "t.csv", small(nil))
	if !errors.Is(err, disk) {
		t.Errorf("want the reader's error, got %v", err)
	}
	wantError(t, "the file is named", err, "reading t.csv after line 0")
}

// TestReadTraceRefusesManyGangs: a list that is too long is an error.
func TestReadTraceRefusesManyGangs(t *testing.T) {
	csv := "job,ranks,submit_seconds,duration_seconds\n" + strings.Repeat(",1,0,1\n", MaxGangs+1)
	_, err := ReadTrace(strings.NewReader(csv), "t.csv", small(nil))
	wantError(t, "the error has the bound", err,
		"t.csv: 100001 rows are to be played, and at most 100000 can be: take a window")
}

// TestGangNames are the ids where they make a name, else the lines.
func TestGangNames(t *testing.T) {
	for id, want := range map[string]string{
		"7": "job-7", "a-b": "job-a-b", "a_b": "line-9", "A": "line-9", "": "line-9", "-": "line-9",
		strings.Repeat("a", MaxGangName-4): "job-" + strings.Repeat("a", MaxGangName-4),
		strings.Repeat("a", MaxGangName-3): "line-9",
	} {
		if got := gangName(row{job: id, line: 9}); got != want {
			t.Errorf("%q makes %q, want %q", id, got, want)
		}
	}
}

func TestLabelOf(t *testing.T) {
	for file, want := range map[string]string{
		"trace2.csv": "trace2", "a/b/My_Trace (2).v1.csv": "my-trace-2-v1", ".csv": "trace", "": "trace",
		"ä.csv": "trace", strings.Repeat("a", 62) + "-b.csv": strings.Repeat("a", 62),
	} {
		if got := labelOf(file); got != want {
			t.Errorf("%q makes %q, want %q", file, got, want)
		}
	}
}
