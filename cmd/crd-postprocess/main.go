// Command crd-postprocess turns the CRD that controller-gen writes into the one that is installed: it adds
// the rules of a rules file (api/v1alpha1/rules.yaml) and drops the descriptions of Kubernetes' own types,
// which would triple its size. It adds the rules to the API's reference too, and writes the admission policy
// for what pkg/framework reserves.
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
		fmt.Fprintln(os.Stderr, "usage: crd-postprocess --rules rules.yaml crd.yaml api.md policy.yaml")
		fmt.Fprintln(os.Stderr, "rewrites crd.yaml, appends to api.md and writes policy.yaml")
	}
	flag.Parse()
	if *rulesPath == "" || flag.NArg() != 3 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*rulesPath, flag.Arg(0), flag.Arg(1), flag.Arg(2)); err != nil {
		fmt.Fprintln(os.Stderr, "crd-postprocess:", err)
		os.Exit(1)
	}
}

func run(rulesPath, crdPath, docsPath, policyPath string) error {
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
	if err := describeFrameworks(docsPath); err != nil {
		return err
	}
	return writeEnvironmentPolicy(policyPath)
}
