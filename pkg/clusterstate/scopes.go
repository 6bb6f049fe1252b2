package clusterstate

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// allNamespaces is the scope of a list that is limited to no namespace, or of a cluster-scoped kind.
const allNamespaces = ""

// scope returns the name of the list in which an object of a namespace is: that of its namespace where the
// cluster is seen by namespaces.
func (c *Cluster) scope(namespace string) string {
	if len(c.namespaces) == 0 {
		return allNamespaces
	}
	return namespace
}

// setListed records that the first list of a kind is in, of one namespace or of all. The caller holds the
// lock.
func (c *Cluster) setListed(gvk schema.GroupVersionKind, namespace string) {
	if c.listed[gvk] == nil {
		c.listed[gvk] = map[string]bool{}
	}
	c.listed[gvk][namespace] = true
}

// follow records that objects of a kind are to be seen.
func (c *Cluster) follow(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followed[gvk] = true
}

// allListed reports whether of a kind everything that is to be seen is known. The caller holds the lock.
func (c *Cluster) allListed(gvk schema.GroupVersionKind) bool {
	listed := c.listed[gvk]
	if listed[allNamespaces] {
		return true
	}
	for _, name := range c.namespaces {
		if !listed[name] {
			return false
		}
	}
	return len(c.namespaces) > 0
}
