package servers

import (
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Etcd is the process of the single member. It requires client certificates, so no API server of another
// cluster can attach to it by mistake.
func (c Config) Etcd() process.Process {
	client, peer := layout.LocalURL(c.Ports[ProcessEtcd], ""), layout.LocalURL(c.Ports[portEtcdPeer], "")
	return process.Process{
		Name: ProcessEtcd,
		Path: c.Binaries.Path(components.Etcd, "etcd"),
		Args: []string{
			"--name=local",
			"--data-dir=" + c.Files.EtcdData(),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=local=" + peer,
			"--trusted-ca-file=" + c.Files.CA(),
			"--cert-file=" + c.Files.ServerCert(),
			"--key-file=" + c.Files.ServerKey(),
			"--client-cert-auth=true",
			"--peer-trusted-ca-file=" + c.Files.CA(),
			"--peer-cert-file=" + c.Files.ServerCert(),
			"--peer-key-file=" + c.Files.ServerKey(),
			"--peer-client-cert-auth=true",
			// The data does not outlive the cluster, so it need not survive a power cut.
			"--unsafe-no-fsync=true",
			"--log-level=warn",
		},
		Log:    c.Files.Log(ProcessEtcd),
		Ports:  []int{c.Ports[ProcessEtcd], c.Ports[portEtcdPeer]},
		Health: layout.LocalURL(c.Ports[ProcessEtcd], "/health"),
	}
}
