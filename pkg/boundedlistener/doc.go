// Package boundedlistener limits the connections that a server keeps open.
//
// Every connection begins as a stranger's. Strangers are few, and each can send only a little (a handshake, a
// header). When there are too many, the listener cuts off the oldest connection of the address with the most
// strangers: a flood from some addresses affects only these, and a client with its own address is served.
// Within one address the oldest is cut off, because an honest client finishes within milliseconds. New
// connections of one address also have a rate limit, because each costs a handshake.
//
// Once the server has authenticated a connection, it calls Vouch with the client's name. The connection then
// counts for the client, which can have a few, and strangers cannot replace it.
//
// Limits: the listener cannot distinguish clients with the same address, such as pods with hostNetwork or
// behind one NAT. A flood from such an address makes their new connections fail until it ends. A flood from
// more addresses than Strangers leaves honest clients a share of the connections; use a NetworkPolicy against
// it.
package boundedlistener
