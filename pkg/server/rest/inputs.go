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
	Cluster string `path:"cluster" maxLength:"63" pattern:"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" doc:"Name of a cluster in /api/v1/clusters."`
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

// DryRun requests only a check.
type DryRun struct {
	DryRun string `query:"dryRun" enum:"All" doc:"All: check the request, including admission, without a change."`
}

// IfMatch restricts a change to one version, or to one object.
type IfMatch struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"ETag of an earlier response: change only that version. \"<uid>\" or \"<resourceVersion>\", in quotes, check only the one or the other. Otherwise the status is 412."`
}

// Page is a part of a list.
type Page struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Maximum number of items in the response."`
	Continue string `query:"continue" maxLength:"1024" doc:"Token metadata.continue of the previous page. The other parameters must be the same."`

	url url.URL
}

// Resolve implements huma.Resolver: it keeps the URL for the link to the next page.
func (p *Page) Resolve(ctx huma.Context) []error {
	p.url = ctx.URL()
	return nil
}

// PageMetadata is the position of a page in its list.
type PageMetadata struct {
	// Continue is the token of the next page; empty at the end.
	Continue string `json:"continue,omitempty" doc:"Token of the next page; absent at the end."`
	// Next is the path of the next page, with its parameters.
	Next string `json:"next,omitempty" doc:"Path of the next page, with all parameters; absent at the end."`
}

// before returns the metadata of a page with the token of the next one, and its header Link.
func (p *Page) before(token string) (PageMetadata, string) {
	if token == "" {
		return PageMetadata{}, ""
	}
	query := p.url.Query()
	query.Set("continue", token)
	next := url.URL{Path: p.url.Path, RawPath: p.url.RawPath, RawQuery: query.Encode()}
	return PageMetadata{Continue: token, Next: next.String()}, "<" + next.String() + `>; rel="next"`
}
