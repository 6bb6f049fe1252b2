// Command coredns is CoreDNS with no more plugins than the local cluster's real nodes need: names of the
// cluster's Services. It is assembled as CoreDNS' own documentation has it for builds of one's own
// (plugin.md).
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	dnsserver.Directives = []string{"errors", "health", "ready", "kubernetes", "template"}
	coremain.Run()
}
