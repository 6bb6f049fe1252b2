package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tokenLasts is the lifetime of the server's token. Board renews it.
const tokenLasts = 30 * 24 * time.Hour

// accountFiles create the server's account with its usual rights. It is no administrator of the cluster.
func accountFiles() []string {
	return []string{
		"deploy/operator/namespace.yaml", "deploy/server/service_account.yaml", "deploy/server/role.yaml",
		"deploy/server/bindings.yaml", "deploy/server/rbac.yaml", visitorFile,
	}
}

// install the server's account and the board's visitor.
func (s server) install(ctx context.Context, c client.Client, root string) error {
	for _, file := range accountFiles() {
		if err := apply(ctx, c, filepath.Join(root, file), ""); err != nil {
			return err
		}
	}
	return nil
}

func (s server) kubeconfig() string { return s.file(".kubeconfig") }

// writeKubeconfig of the server's account.
func (s server) writeKubeconfig(ctx context.Context, c client.Client, admin *rest.Config) error {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLasts / time.Second))},
	}
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: "trainingjob-system", Name: "trainingjob-server"},
	}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("making a token for the server: %w", err)
	}
	const name = "server"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, s.kubeconfig()); err != nil {
		return fmt.Errorf("writing the server's kubeconfig: %w", err)
	}
	return nil
}
