package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Stop ends the control plane: nodes, controller manager, API server, etcd last. Its folder stays and can be taken up again.
func (c *ControlPlane) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var problems []error
	for _, component := range c.state.endOrder() {
		problems = append(problems, c.end(ctx, component))
	}
	problems = append(problems, clearNodes(ctx, c.state, c.slot))
	c.slot.release()
	return errors.Join(problems...)
}

// Remove ends the control plane and deletes its folder.
func (c *ControlPlane) Remove(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("folder of %s: %w", c.Name, err)
	}
	return nil
}

// StopAPIServer ends the API server; clients get "connection refused".
func (c *ControlPlane) StopAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end(ctx, apiServer)
}

// StartAPIServer starts the API server again, at the same address, and waits until it is ready.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startAPIServer(ctx)
}

// RestartAPIServer starts the API server anew with these additional flags in place of the earlier ones.
func (c *ControlPlane) RestartAPIServer(ctx context.Context, args ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.end(ctx, apiServer); err != nil {
		return err
	}
	c.state.APIServerArgs = args
	return c.startAPIServer(ctx)
}

// StopControllerManager ends the controller manager: no namespace is deleted, no garbage collected, no service account made.
func (c *ControlPlane) StopControllerManager(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end(ctx, controllerManager)
}

// StartControllerManager starts the controller manager and waits until it works.
func (c *ControlPlane) StartControllerManager(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startControllerManager(ctx)
}

// RotateServingCA gives the API server a certificate of a new authority. Clients that trust the old one fail from now on;
// tokens and client certificates stay valid, and the administrator's kubeconfig is rewritten.
func (c *ControlPlane) RotateServingCA(ctx context.Context) error {
	return c.renew(ctx, fileServingCA+pairCert, fileServingCA+pairKey, fileServing+pairCert, fileServing+pairKey)
}

// RotateServiceAccountKey gives the API server a new key for service-account tokens: all that were issued are refused (401)
// from now on, as after a restored backup or a rebuilt control plane.
func (c *ControlPlane) RotateServiceAccountKey(ctx context.Context) error {
	return c.renew(ctx, fileServiceAccountKey+pairPublicKey, fileServiceAccountKey+pairKey)
}

// renew restarts what reads the files with new ones.
func (c *ControlPlane) renew(ctx context.Context, files ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	managed, scheduled := c.runs(controllerManager), c.runs(scheduler)
	for _, component := range []string{scheduler, controllerManager, apiServer} {
		if err := c.end(ctx, component); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := os.Remove(c.path(file)); err != nil {
			return fmt.Errorf("renew %s of %s: %w", file, c.Name, err)
		}
	}
	if err := c.writeSecrets(); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	if managed {
		if err := c.startControllerManager(ctx); err != nil {
			return err
		}
	}
	if scheduled {
		if err := c.startScheduler(ctx); err != nil {
			return err
		}
	}
	return c.renewNodes(ctx)
}
