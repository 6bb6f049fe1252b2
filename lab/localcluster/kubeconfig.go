package localcluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes the administrator's kubeconfig, which stands alone: the
// certificates are inside, so that it can be copied. It holds a private key:
// mode 0600, which clientcmd gives to new files.
func writeKubeconfig(l layout, server string) error {
	return writeKubeconfigTo(l, l.kubeconfig(), server)
}

// writeKubeconfigTo writes the same for a server at another address.
func writeKubeconfigTo(l layout, path, server string) error {
	const name = "localcluster"
	ca, err := os.ReadFile(l.pkiFile(fileCA))
	if err != nil {
		return fmt.Errorf("reading the authority's certificate: %w", err)
	}
	certificate, err := os.ReadFile(l.pkiFile(fileAdminCert))
	if err != nil {
		return fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	key, err := os.ReadFile(l.pkiFile(fileAdminKey))
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

// readKubeconfig returns the client configuration, without a client-side limit:
// tests and benchmarks shall measure the cluster and not their client.
func readKubeconfig(l layout) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
