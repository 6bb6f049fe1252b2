// Package upgrade tests what an admin is promised of another version of the operator: no rank restarts,
// nothing is written beyond what differs, no resume point is lost, and the way back is open; a removal leaves
// nothing and frees the quotas; and the API changes by its rule alone. docs/install.md lists the guarantees.
//
// The other version is the commit in the file from: its operator is built, and its manifests applied, from
// what git archive gives of it. Write another commit of main there when that is to be upgraded from.
//
//	from ──▶ old CRD, policies, rights, operator ──▶ gangs in every phase
//	                                                        │
//	this tree ──▶ new CRD, policies, rights; a new operator stands by, the old one ends
//	                                                        │
//	what is there, and the audit log: nothing was written ──▶ the way back ──▶ the removal
//
// The API's rule is tested without a cluster: what this tree's schema, policies and names refuse or lack that
// those of the other commit had is in exceptions.yaml with its reason, or an error.
package upgrade
