package simulated

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/bench/simulated/apiserver"
)

// Cluster that is simulated in this process.
type Cluster struct {
	dir    string
	api    *apiserver.Server
	web    *http.Server
	audit  *os.File
	config *rest.Config
	stop   context.CancelFunc
	agents sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// Up starts a cluster without nodes, whose files are in a folder.
func Up(ctx context.Context, dir string) (_ *Cluster, err error) {
	c := &Cluster{dir: dir}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the cluster's folder: %w", err)
	}
	if c.audit, err = os.Create(c.AuditLog()); err != nil {
		return nil, fmt.Errorf("creating the audit log: %w", err)
	}
	if c.api, err = apiserver.New(c.audit); err != nil {
		return nil, errors.Join(err, c.audit.Close())
	}
	if err := c.serve(); err != nil {
		return nil, errors.Join(err, c.audit.Close())
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	if err := c.begin(running); err != nil {
		return nil, errors.Join(err, c.Down(ctx))
	}
	return c, nil
}

// begin makes the queue that gangs have by default, and lets the scheduler and the kubelet run.
func (c *Cluster) begin(ctx context.Context) error {
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(schedulingv1beta1.SchemeGroupVersion.WithKind("Queue"))
	queue.SetName(schedulingv1beta1.DefaultQueue)
	admin := c.api.Client("simulated-admin")
	if err := admin.Create(queues, queue); err != nil {
		return fmt.Errorf("creating the queue: %w", err)
	}
	open := setStatus(map[string]any{"state": string(schedulingv1beta1.QueueStateOpen)})
	if err := admin.Update(queues, "status", name(queue), "", open); err != nil {
		return fmt.Errorf("opening the queue: %w", err)
	}
	scheduler, err := newScheduler(c.api)
	if err != nil {
		return err
	}
	kubelet, err := newKubelet(c.api)
	if err != nil {
		return err
	}
	for _, run := range []func(context.Context) error{scheduler.run, kubelet.run} {
		c.agents.Go(func() { c.failed(run(ctx)) })
	}
	return nil
}

// serve the API on a port of this machine, and write the file by which clients find it.
func (c *Cluster) serve() error {
	const host = "127.0.0.1"
	certificate, private, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, private)
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	c.web = &http.Server{
		Handler: c.api, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ErrorLog:  log.New(io.Discard, "", 0), // clients that are killed break their connections off
	}
	c.agents.Go(func() {
		if err := c.web.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			c.failed(fmt.Errorf("serving the API: %w", err))
		}
	})
	url := "https://" + listener.Addr().String()
	c.config = &rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{CAData: certificate}, QPS: -1}
	file := clientcmdapi.NewConfig()
	file.Clusters["simulated"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: certificate}
	file.AuthInfos["user"] = &clientcmdapi.AuthInfo{}
	file.Contexts["simulated"] = &clientcmdapi.Context{
		Cluster: "simulated", AuthInfo: "user", Namespace: metav1.NamespaceDefault,
	}
	file.CurrentContext = "simulated"
	if err := clientcmd.WriteToFile(*file, c.Kubeconfig()); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func (c *Cluster) failed(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

// Err is an error where something went wrong that makes a measurement void: a request that the API server did
// not understand, or a part of the cluster that ended.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(append([]error{c.api.Err()}, c.errs...)...)
}

// Kubeconfig is the path of a file by which programs find the cluster.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// RESTConfig is the same for clients of this process; they have no limit.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// AuditLog is the path of the API server's audit log.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "audit.jsonl") }

// Down ends the cluster and forgets what it had.
func (c *Cluster) Down(context.Context) error {
	if c.stop != nil {
		c.stop()
	}
	c.api.Stop()
	err := c.web.Close()
	c.agents.Wait()
	return errors.Join(err, c.audit.Close())
}
