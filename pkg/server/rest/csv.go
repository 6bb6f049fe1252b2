package rest

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// columns of the dimensions.
var columns = map[store.Dimension]struct {
	names []string
	of    func(*Usage) []string
}{
	store.ByDay:       {[]string{"day"}, func(u *Usage) []string { return []string{u.Day} }},
	store.ByNamespace: {[]string{"namespace"}, func(u *Usage) []string { return []string{u.Namespace} }},
	store.ByQueue:     {[]string{"queue"}, func(u *Usage) []string { return []string{u.Queue} }},
	store.ByUser:      {[]string{"user"}, func(u *Usage) []string { return []string{u.User} }},
	store.ByGPUKind:   {[]string{"gpu_kind"}, func(u *Usage) []string { return []string{u.GPUKind} }},
	store.ByJob: {[]string{"job_namespace", "job_name", "job_uid"}, func(u *Usage) []string {
		return []string{u.Namespace, u.JobName, u.JobUID}
	}},
}

// figures follow the dimensions.
var figures = []string{
	"queued_seconds", "running_seconds", "gpu_seconds", "gpu_hours", "lost_seconds", "lost_gpu_seconds", "jobs",
	"attempts", "preemptions", "asked", "saved", "preempted_lost_gpu_seconds", "room_made", "room_seconds",
	"cost", "currency", "unpriced_gpu_kinds",
}

// encodeCSV writes a line for each item, without the total, which programs would count twice.
func encodeCSV(a *Accounting) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	var header []string
	for _, by := range a.By {
		header = append(header, columns[by].names...)
	}
	lines := [][]string{append(header, figures...)}
	for i := range a.Items {
		u := &a.Items[i]
		var line []string
		for _, by := range a.By {
			for _, cell := range columns[by].of(u) {
				line = append(line, harmless(cell))
			}
		}
		cost := ""
		if u.Cost != nil {
			cost = *u.Cost
		}
		for _, n := range []int64{u.QueuedSeconds, u.RunningSeconds, u.GPUSeconds} {
			line = append(line, strconv.FormatInt(n, 10))
		}
		line = append(line, u.GPUHours)
		for _, n := range []int64{
			u.LostSeconds, u.LostGPUSeconds, u.Jobs, u.Attempts, u.Preemptions, u.Asked, u.Saved,
			u.PreemptedLostGPUSeconds, u.RoomMade, u.RoomSeconds,
		} {
			line = append(line, strconv.FormatInt(n, 10))
		}
		lines = append(lines, append(line, cost, a.Currency, harmless(strings.Join(u.Unpriced, " "))))
	}
	if err := w.WriteAll(lines); err != nil {
		return nil, fmt.Errorf("encoding the accounting: %w", err)
	}
	return out.Bytes(), nil
}

// harmless returns a cell that no spreadsheet reads as a formula: a job can name any user
// (https://owasp.org/www-community/attacks/CSV_Injection).
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
