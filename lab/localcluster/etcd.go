package localcluster

// etcd is the command line of the one member. It speaks TLS and wants a client
// certificate: no API server of another cluster can attach itself by mistake.
func (p plan) etcd() process {
	client, peer := localURL(p.ports[processEtcd], ""), localURL(p.ports[portEtcdPeer], "")
	return process{
		Name: processEtcd,
		Path: p.binaries.path(componentEtcd, "etcd"),
		Args: []string{
			"--name=local",
			"--data-dir=" + p.files.etcdData(),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=local=" + peer,
			"--trusted-ca-file=" + p.files.pkiFile(fileCA),
			"--cert-file=" + p.files.pkiFile(fileServerCert),
			"--key-file=" + p.files.pkiFile(fileServerKey),
			"--client-cert-auth=true",
			"--peer-trusted-ca-file=" + p.files.pkiFile(fileCA),
			"--peer-cert-file=" + p.files.pkiFile(fileServerCert),
			"--peer-key-file=" + p.files.pkiFile(fileServerKey),
			"--peer-client-cert-auth=true",
			// Data that nobody keeps need not survive a power cut.
			"--unsafe-no-fsync=true",
			"--log-level=warn",
		},
		Log:    p.files.log(processEtcd),
		Ports:  []int{p.ports[processEtcd], p.ports[portEtcdPeer]},
		Health: localURL(p.ports[processEtcd], "/health"),
	}
}
