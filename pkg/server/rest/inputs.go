package rest

import (
	"net/url"

	"github.com/danielgtaylor/huma/v2"
)

// Paths of the API.
const (
	root       = "/api/v1/clusters"
	inCluster  = root + "/{cluster}"
	namespaced = inCluster + "/namespaces/{namespace}/trainingjobs"
	named      = namespaced + "/{name}"
)

// ClusterPath names a cluster.
type ClusterPath struct {
	Cluster string `path:"cluster" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Name of a cluster that /api/v1/clusters lists."`
}

// NamespacePath names a namespace.
type NamespacePath struct {
	ClusterPath
	Namespace string `path:"namespace" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Name of a namespace."`
}

// JobPath names a TrainingJob.
type JobPath struct {
	NamespacePath
	Name string `path:"name" maxLength:"63" pattern:"^[a-z]([-a-z0-9]*[a-z0-9])?$" doc:"Name of a TrainingJob."`
}

// DryRun asks for a check alone.
type DryRun struct {
	DryRun string `query:"dryRun" enum:"All" doc:"All: the request is checked as it would be, admission included, and nothing is kept."`
}

// IfMatch asks for a change of one version, or of one object, alone.
type IfMatch struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of an earlier answer: the change is made to that version alone. \"<uid>\" or \"<resourceVersion>\", in quotes, ask for the one or the other alone. Otherwise the answer is 412."`
}

// Page is a part of a list.
type Page struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many items the answer has at most."`
	Continue string `query:"continue" maxLength:"1024" doc:"The token metadata.continue of the page before. The other parameters must be the same."`

	url url.URL
}

// Resolve implements huma.Resolver: a page links to the next one.
func (p *Page) Resolve(ctx huma.Context) []error {
	p.url = ctx.URL()
	return nil
}

// PageMetadata is where a page stands in its list.
type PageMetadata struct {
	// Continue is the token of the next page; empty where there is none.
	Continue string `json:"continue,omitempty" doc:"Token of the next page; absent where there is none."`
	// Next is the path of the next page, with its parameters.
	Next string `json:"next,omitempty" doc:"Path of the next page, with all parameters; absent where there is none."`
}

// before returns the metadata of a page that is followed by the one of a token, and its header Link.
func (p *Page) before(token string) (PageMetadata, string) {
	if token == "" {
		return PageMetadata{}, ""
	}
	query := p.url.Query()
	query.Set("continue", token)
	next := url.URL{Path: p.url.Path, RawPath: p.url.RawPath, RawQuery: query.Encode()}
	return PageMetadata{Continue: token, Next: next.String()}, "<" + next.String() + `>; rel="next"`
}
