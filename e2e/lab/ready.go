package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/fleet/e2e/proc"
)

// check asks once whether something is ready.
type check func(ctx context.Context) error

// await asks until the component is ready, and gives up at once when its process ends.
func (c *ControlPlane) await(ctx context.Context, component, what string, ready check) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not within %s", readyLimit))
	defer cancel()
	died := c.processes[component].Done()
	var last error
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-died:
			return c.explain(component, what, errors.New("the process has ended"))
		case <-ctx.Done():
			return c.explain(component, what, fmt.Errorf("%w; last: %w", context.Cause(ctx), last))
		case <-time.After(pause):
		}
	}
}

func (c *ControlPlane) explain(component, what string, cause error) error {
	log := c.Log(component)
	return fmt.Errorf("control plane %s: waiting until %s %s: %w; the end of %s:\n%s", c.Name, component, what, cause, log, proc.Tail(log, 15))
}

func etcdHealthy(url string) check {
	return func(ctx context.Context) error { return getOK(ctx, &http.Client{}, url+"/health") }
}

// serverReady wants the default namespace, too: clients create objects there in their first second.
func (c *ControlPlane) serverReady() check {
	return func(ctx context.Context) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	}
}

// healthz asks a component that listens on a port of this slot.
func (c *ControlPlane) healthz(port int) check {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.ca)
	web := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true,
	}}
	url := "https://" + address(c.slot.port(port)) + "/healthz"
	return func(ctx context.Context) error { return getOK(ctx, web, url) }
}

func (c *ControlPlane) managerReady() check {
	healthy := c.healthz(portControllerManager)
	return func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}
		client, err := c.client()
		if err != nil {
			return err
		}
		_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

// nodeReady wants a Node, of this name unless it is empty, that says so since now: one of an earlier start may be there still.
func (c *ControlPlane) nodeReady(name string) check {
	since := time.Now().Truncate(time.Second)
	return func(ctx context.Context) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if name != "" && node.Name != name {
				continue
			}
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && !condition.LastHeartbeatTime.Time.Before(since) {
					return nil
				}
			}
		}
		return fmt.Errorf("of %d Nodes none that is wanted is Ready since then", len(nodes.Items))
	}
}

func (c *ControlPlane) client() (*kubernetes.Clientset, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	// A server that accepts and then hangs must not take the whole wait.
	config.Timeout = 10 * time.Second
	return kubernetes.NewForConfig(config)
}

func getOK(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
