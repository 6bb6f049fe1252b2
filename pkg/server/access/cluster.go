package access

import (
	"errors"
	"net/http"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// maxClients is the number of clients in each cluster, one for each caller. They share the connections.
const maxClients = 1000

// cluster in which callers act.
type cluster struct {
	name    string
	config  *rest.Config // the server's own
	options client.Options
	calls   int // per second and caller
	reviews *reviews
	rights  *rights

	mu      sync.Mutex
	clients *lru.Cache
}

// acting is the client of one caller.
type acting struct {
	client client.WithWatch
	config *rest.Config
}

func newCluster(given Cluster, o Options, m *metrics) (*cluster, error) {
	if given.Config.Impersonate.UserName != "" {
		return nil, errors.New("the kubeconfig uses impersonation: the server needs credentials of " +
			"its own, because it impersonates its callers")
	}
	own := rest.CopyConfig(given.Config)
	own.QPS = -1 // maxAsked bounds the reviews
	httpClient, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(own, httpClient)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfigAndClient(own, httpClient)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		name: given.Name, config: own, calls: o.Config.CallsPerSecond,
		options: client.Options{Scheme: o.Scheme, Mapper: mapper},
		reviews: newReviews(given.Name, kube.AuthorizationV1().SubjectAccessReviews(), o.Clock, m),
		clients: lru.New(maxClients),
	}
	c.rights = &rights{
		wide: o.Config.WideImpersonation, reviews: kube.AuthorizationV1().SelfSubjectAccessReviews(),
		probe: c.probe, acting: m.acting.WithLabelValues(given.Name),
	}
	return c, nil
}

// as returns the client of a caller. A caller keeps its client and rate limit between requests.
func (c *cluster) as(s subject) (client.WithWatch, *rest.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := s.Key()
	if found, ok := c.clients.Get(key); ok {
		a := found.(acting)
		return a.client, rest.CopyConfig(a.config), nil
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = s.impersonation()
	config.QPS, config.Burst = float32(c.calls), 2*c.calls
	config.RateLimiter = nil
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return ownRights{base} })
	made, err := client.NewWithWatch(config, c.options)
	if err != nil {
		return nil, nil, err
	}
	c.clients.Add(key, acting{client: made, config: config})
	return made, rest.CopyConfig(config), nil
}
