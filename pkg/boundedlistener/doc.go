// Package boundedlistener answers one question: which connections does a server keep when more come than it
// has memory for?
//
// Every connection begins as a stranger's. Strangers are few, so what they make the server keep (a handshake,
// a header) is little, and each may send only so much. Where one too many comes, the oldest connection of the
// address with the most strangers is cut off: a flood from some addresses pushes out only itself, and a
// client with an address of its own that finishes what it began is served. Within one address the oldest
// goes, because an honest client is done within milliseconds. New connections of one address have a rate too,
// since each costs a handshake.
//
// Once the server knows whose a connection is, it calls Vouch with the client's name. The connection then
// counts as the client's, of which each has only a few, and no stranger can push it out.
//
// What it cannot do: tell clients apart that share an address, such as pods with hostNetwork or behind one
// NAT. A flood from such an address makes their new connections fail until it ends. And a flood from more
// addresses than there are places for strangers leaves honest clients a share of them only; a NetworkPolicy
// keeps such a flood out.
package boundedlistener
