package main

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/recorder"
)

// cluster of the configuration. It sends no request before its cache is started, so that an unavailable
// cluster does not delay the others.
type cluster struct {
	name   string
	rest   *rest.Config
	cache  cache.Cache
	client client.Client
}

// openClusters creates the clients of all clusters, in the order of the configuration.
func openClusters(cfg config.ServerConfiguration) ([]cluster, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme),
		queues.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	var all []cluster
	for _, c := range cfg.AllClusters() {
		opened, err := openCluster(c, scheme)
		if err != nil {
			return nil, fmt.Errorf("opening cluster %s: %w", c.Name, err)
		}
		all = append(all, opened)
	}
	return all, nil
}

func openCluster(c config.Cluster, scheme *runtime.Scheme) (cluster, error) {
	at, err := restConfig(c)
	if err != nil {
		return cluster{}, err
	}
	options := recorder.CacheOptions()
	options.Scheme = scheme
	watched, err := cache.New(at, options)
	if err != nil {
		return cluster{}, fmt.Errorf("creating its cache: %w", err)
	}
	direct, err := client.New(at, client.Options{Scheme: scheme})
	if err != nil {
		return cluster{}, fmt.Errorf("creating its client: %w", err)
	}
	return cluster{name: c.Name, rest: at, cache: watched, client: direct}, nil
}

// restConfig has no client-side rate limit: the API server's flow control is fairer.
func restConfig(c config.Cluster) (*rest.Config, error) {
	var at *rest.Config
	var err error
	if c.Kubeconfig == "" {
		at, err = ctrl.GetConfig()
	} else {
		at, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig},
			&clientcmd.ConfigOverrides{CurrentContext: c.Context, ClusterInfo: clientcmdapi.Cluster{}},
		).ClientConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("reading its kubeconfig: %w", err)
	}
	at.QPS, at.Burst, at.RateLimiter = -1, 0, nil
	at.UserAgent = "server/" + version
	return at, nil
}
