package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// reference returns TYPE/NAMESPACE/NAME of a queue, without the namespace if it has none.
func reference(q *queues.Queue) string {
	return joined("/", strings.ToLower(q.Kind), q.Namespace, q.Name)
}

// named returns the queues of NAME, TYPE/NAME or TYPE/NAMESPACE/NAME.
func named(all []queues.Queue, name string) []queues.Queue {
	var found []queues.Queue
	for i := range all {
		q := &all[i]
		kind := strings.ToLower(q.Kind)
		switch strings.ToLower(name) {
		case q.Name, kind + "/" + q.Name, reference(q):
			found = append(found, *q)
		}
	}
	return found
}

// completions returns the names that begin with the typed text, or the references if it has a slash.
func completions(all []queues.Queue, typed string) []string {
	var found []string
	for i := range all {
		word := all[i].Name
		if strings.Contains(typed, "/") {
			word = reference(&all[i])
		}
		if strings.HasPrefix(word, typed) {
			found = append(found, word)
		}
	}
	return found
}

// queuesText is a table with a row for each resource of a queue.
func queuesText(found foundQueues) string {
	if len(found.queues) == 0 {
		return "You may list no queue, and no quota in namespace " + found.namespace + ".\n"
	}
	rows := [][]string{{"QUEUE", "RESOURCE", "USED", "QUOTA", "WAITING"}}
	var closed []string
	for i := range found.queues {
		q := &found.queues[i]
		waiting := "unknown"
		if found.noJobs == nil {
			waiting = waitingOf(q)
		}
		for _, r := range resourcesOf(q) {
			rows = append(rows, []string{
				reference(q), resourceName(r), orUnknown(value(r.Used)), quota(q, r), waiting,
			})
		}
		if q.StateReason != "" {
			closed = append(closed, wrapped(fmt.Sprintf("%s is %s: %s", reference(q), q.State, q.StateReason),
				columns)...)
		}
	}
	return strings.Join(append(table(rows), closed...), "\n") + "\n"
}

// resourcesOf returns the resources of a queue, or one that stands for all if it names none.
func resourcesOf(q *queues.Queue) []queues.Resource {
	if len(q.Resources) > 0 {
		return q.Resources
	}
	return []queues.Resource{{Name: "any", Unlimited: q.Kind == "Queue"}}
}

// waitingOf returns the number of waiting jobs and of their GPUs.
func waitingOf(q *queues.Queue) string {
	if len(q.Waiting) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", len(q.Waiting), gpusOf(q.Waiting, q.WaitingGPUs))
}

// gpusOf returns the sum with a + if the GPUs of some of the jobs are unknown.
func gpusOf(jobs []queues.Job, sum int64) string {
	if queues.UnknownGPUs(jobs) {
		return fmt.Sprintf("%d+ GPUs", sum)
	}
	return count(int(sum), "GPU")
}

func resourceName(r queues.Resource) string {
	if r.Flavor != "" {
		return r.Name + " " + r.Flavor
	}
	return r.Name
}

// quota returns the upper limit of a resource, with the queue's own share.
func quota(q *queues.Queue, r queues.Resource) string {
	own, limit := cmp.Or(value(r.Deserved), value(r.Guaranteed)), value(r.Limit)
	switch {
	case q.Kind == "LocalQueue":
		return "parent's"
	case limit != "" && (own == "" || own == limit):
		return limit
	case limit != "":
		return own + " to " + limit
	case r.Unlimited && own != "":
		return own + "+"
	case r.Unlimited:
		return "unlimited"
	}
	return "unknown"
}

func value(q *string) string {
	if q == nil {
		return ""
	}
	return *q
}

// queueTexts describes queues, one below the other.
func queueTexts(found foundQueues, now time.Time) string {
	var all []string
	for i := range found.queues {
		all = append(all, queueText(found, &found.queues[i], now))
	}
	return strings.Join(all, "\n")
}

func queueText(found foundQueues, q *queues.Queue, now time.Time) string {
	s := &sheet{}
	s.say("Queue", reference(q))
	s.say("Scheduler", cmp.Or(string(q.Scheduler), "any: it limits the pods of all"))
	s.say("Parent", q.Parent)
	s.say("State", joined(": ", q.State, q.StateReason))
	rows := [][]string{{"RESOURCE", "USED", "BORROWED", "QUOTA", "FREE"}}
	for _, r := range resourcesOf(q) {
		free := orUnknown(value(r.Free))
		if r.Unlimited || q.Kind == "LocalQueue" {
			free = "-"
		}
		borrowed := cmp.Or(value(r.Borrowed), "-")
		rows = append(rows, []string{resourceName(r), orUnknown(value(r.Used)), borrowed, quota(q, r), free})
	}
	s.WriteString("\n")
	s.indented(table(rows))
	if found.noJobs != nil {
		s.WriteString("\n")
		s.say("Jobs", "unknown")
		return s.String()
	}
	s.jobs("Running", gpusOf(q.Running, q.RunningGPUs), runningRows(q.Running, now))
	waiting, order := waitingRows(q.Waiting, now), ", the next first"
	if q.Kind == "ResourceQuota" { // it admits the first request: there is no order
		order = ", by priority; the first request is admitted"
		for i := range waiting {
			waiting[i] = waiting[i][1:]
		}
	}
	s.jobs("Waiting", gpusOf(q.Waiting, q.WaitingGPUs)+order, waiting)
	return s.String()
}

// indented writes lines without labels.
func (s *sheet) indented(lines []string) {
	for _, line := range lines {
		s.WriteString("  " + line + "\n")
	}
}

// jobs writes a line with the sum, and the rows of a table.
func (s *sheet) jobs(label, sum string, rows [][]string) {
	s.WriteString("\n")
	if len(rows) == 1 {
		s.say(label, "none")
		return
	}
	s.say(label, count(len(rows)-1, "job")+", "+sum)
	s.indented(table(rows))
}

func runningRows(jobs []queues.Job, now time.Time) [][]string {
	rows := [][]string{{"JOB", "PHASE", "GPUS", "PRIORITY", "AGE"}}
	for _, j := range jobs {
		rows = append(rows, []string{
			j.Namespace + "/" + j.Name, joined(", ", string(j.Phase), passText(j)), gpusOfJob(j), priority(j),
			ago(j.Created, now),
		})
	}
	return rows
}

// waitingRows are in the order of the queue.
func waitingRows(jobs []queues.Job, now time.Time) [][]string {
	rows := [][]string{{"TURN", "JOB", "GPUS", "PRIORITY", "AGE", "REASON"}}
	for i, j := range jobs {
		rows = append(rows, []string{
			fmt.Sprint(i + 1), j.Namespace + "/" + j.Name, gpusOfJob(j), priority(j), ago(j.Created, now),
			joined(", ", j.Reason, reservationText(j), passText(j)),
		})
	}
	return rows
}

// reservationText is empty without a reservation.
func reservationText(j queues.Job) string {
	switch j.Reservation {
	case "":
		return ""
	case v1alpha1.ReservationPlanned:
		return "would reserve"
	case v1alpha1.ReservationLapsed:
		return "lapsed"
	}
	return "reserved"
}

// passText is empty for a job that does not pass a reservation.
func passText(j queues.Job) string {
	switch j.Backfill {
	case v1alpha1.BackfillOtherNodes:
		return "" // it uses nothing that is kept
	case v1alpha1.BackfillIsLent:
		return "lent"
	case v1alpha1.BackfillEndsBefore:
		return "ends before"
	}
	return string(j.Backfill)
}

func gpusOfJob(j queues.Job) string {
	if j.GPUsUnknown {
		return "unknown"
	}
	return fmt.Sprint(j.GPUs)
}

// priority is the value of the job's class, with its name.
func priority(j queues.Job) string {
	text := "unknown"
	if j.Priority != nil {
		text = fmt.Sprint(*j.Priority)
	}
	if j.PriorityClass != "" {
		text += " " + j.PriorityClass
	}
	return text
}
