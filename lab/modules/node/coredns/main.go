// Command coredns is CoreDNS with only the plugins that a real node of the local cluster needs to resolve the
// names of Services. It is assembled as CoreDNS documents it for custom builds (plugin.md).
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
