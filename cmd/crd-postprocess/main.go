// Command crd-postprocess turns the CRD that controller-gen writes into the one that is installed: it adds
// the rules of a rules file (api/v1alpha1/rules.yaml) and drops the descriptions of Kubernetes' own types,
// which would triple its size. It adds the rules to the API's reference too.
//
// What the rules file names and the schema does not have is an error, and so is a rule without a message.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	rulesPath := flag.String("rules", "", "the rules file")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: crd-postprocess --rules rules.yaml crd.yaml api.md")
		fmt.Fprintln(os.Stderr, "rewrites crd.yaml and appends to api.md")
	}
	flag.Parse()
	if *rulesPath == "" || flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*rulesPath, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "crd-postprocess:", err)
		os.Exit(1)
	}
}

func run(rulesPath, crdPath, docsPath string) error {
	rules, err := readRules(rulesPath)
	if err != nil {
		return err
	}
	rules.Rules = append(rules.Rules, frameworkRules()...)
	if err := rewriteCRD(crdPath, rules); err != nil {
		return err
	}
	if err := appendDocs(docsPath, rules); err != nil {
		return err
	}
	return describeFrameworks(docsPath)
}
