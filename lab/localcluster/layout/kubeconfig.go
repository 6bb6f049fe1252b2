package layout

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes an administrator's kubeconfig for the server to path. The certificates are inside,
// so it can be copied. It holds a private key: clientcmd creates files with mode 0600.
func WriteKubeconfig(l Layout, path, server string) error {
	const name = "localcluster"
	ca, err := os.ReadFile(l.CA())
	if err != nil {
		return fmt.Errorf("reading the authority's certificate: %w", err)
	}
	certificate, err := os.ReadFile(l.AdminCert())
	if err != nil {
		return fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	key, err := os.ReadFile(l.AdminKey())
	if err != nil {
		return fmt.Errorf("reading the administrator's key: %w", err)
	}
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// ReadKubeconfig returns the administrator's client configuration, without a client-side rate limit: tests
// and benchmarks measure the cluster, not their own client.
func ReadKubeconfig(l Layout) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
