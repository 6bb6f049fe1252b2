// Package rights compares what the operator may do with what it does.
package rights

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Set of rights. A right is a verb on a resource, such as "patch trainingjobs/status.mlplatform.example.com".
type Set = sets.Set[string]

func right(verb, group, resource string) string {
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// Granted are the rights that rules give.
func Granted(rules []rbacv1.PolicyRule) Set {
	all := Set{}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all.Insert(right(verb, group, resource))
				}
			}
		}
	}
	return all
}

// Shipped are the rules of a file of roles: deploy/rbac/role.yaml.
func Shipped(file string) ([]rbacv1.PolicyRule, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []rbacv1.PolicyRule
	for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		role := rbacv1.ClusterRole{} // a Role has the same rules
		if err := d.Decode(&role); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, role.Rules...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no rules", file)
	}
	return all, nil
}

var requestInfo = apirequest.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// Needed is the right that a request needs; "" for one that asks for no resource.
func Needed(method string, at *url.URL) string {
	info, err := requestInfo.NewRequestInfo(&http.Request{Method: method, URL: at})
	if err != nil || !info.IsResourceRequest {
		return ""
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return right(info.Verb, info.APIGroup, resource)
}
