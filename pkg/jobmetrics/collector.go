package jobmetrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// Options of the collectors.
type Options struct {
	// Jobs is the manager's cache.
	Jobs client.Reader
	// Leading is closed when this replica leads, and its cache is filled.
	Leading <-chan struct{}
	// GPUs are the resources that count as GPUs; empty: the default.
	GPUs framework.GPUs
	// Limit is the maximum number of jobs with series, RankLimit that of ranks.
	Limit, RankLimit int
}

// collector converts what read returns to metrics on each scrape.
type collector struct {
	Options
	read         func(Options, []*v1alpha1.TrainingJob) []series
	descriptions map[string]described
}

type described struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// NewSums returns the collector of the sums over all jobs.
func NewSums(o Options) prometheus.Collector {
	return newCollector(o, SumDescriptions(), func(_ Options, jobs []*v1alpha1.TrainingJob) []series {
		return sums(jobs)
	})
}

// NewJobs returns the collector of the series of each job.
func NewJobs(o Options) prometheus.Collector { return newCollector(o, JobDescriptions(), jobSeries) }

func newCollector(
	o Options, all []metric.Description, read func(Options, []*v1alpha1.TrainingJob) []series,
) *collector {
	c := &collector{Options: o, read: read, descriptions: make(map[string]described, len(all))}
	for _, d := range all {
		c.descriptions[d.Name] = described{d.Desc(), d.ValueType()}
	}
	return c
}

// jobSeries returns the series of all jobs, and the numbers of jobs and ranks that the limits leave out.
func jobSeries(o Options, all []*v1alpha1.TrainingJob) []series {
	jobs := kept(all, o.Limit)
	var list []series
	for _, job := range jobs {
		list = append(list, seriesOf(job, o.GPUs)...)
	}
	ranks, ranksLeftOut := rankSeries(jobs, o.RankLimit)
	list = append(list, ranks...)
	return append(list,
		series{nameJobsLeftOut, float64(len(all) - len(jobs)), nil},
		series{nameRanksLeftOut, float64(ranksLeftOut), nil},
	)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descriptions {
		to <- d.desc
	}
}

// Collect implements prometheus.Collector. A replica that does not lead sends nothing.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	select {
	case <-c.Leading:
	default:
		return
	}
	jobs, err := c.list()
	if err != nil {
		for _, d := range c.descriptions {
			to <- prometheus.NewInvalidMetric(d.desc, err)
			return // one metric carries the error
		}
	}
	for _, s := range c.read(c.Options, jobs) {
		d := c.descriptions[s.name]
		m, err := prometheus.NewConstMetric(d.desc, d.kind, s.value, s.labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d.desc, err)
		}
		to <- m
	}
}

// list returns all jobs. They belong to the cache: read only.
func (c *collector) list() ([]*v1alpha1.TrainingJob, error) {
	list := &v1alpha1.TrainingJobList{}
	if err := c.Jobs.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the jobs: %w", err)
	}
	jobs := make([]*v1alpha1.TrainingJob, len(list.Items))
	for i := range list.Items {
		jobs[i] = &list.Items[i]
	}
	return jobs, nil
}
