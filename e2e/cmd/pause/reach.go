package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// accountFolder is where a Pod finds its own credential.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// server is an API server, and how to speak to it.
type server struct{ url, ca, token string }

// reach asks an API server for the user that it sees, until it answers or the time is over.
func reach(ctx context.Context, getenv func(string) string, out io.Writer) error {
	s, err := find(getenv)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(s.ca)) {
		return errors.New("there is no certificate in the authority's file")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 5 * time.Second}
	for {
		user, err := s.whoAmI(ctx, client)
		if err == nil {
			_, err := fmt.Fprintf(out, "reached %s as %s\n", s.url, user)
			return err
		}
		fmt.Fprintln(out, err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not reached", s.url)
		case <-time.After(time.Second):
		}
	}
}

func find(getenv func(string) string) (server, error) {
	if url := getenv("REACH_URL"); url != "" {
		return server{url: url, ca: getenv("REACH_CA"), token: getenv("REACH_TOKEN")}, nil
	}
	ca, err := os.ReadFile(filepath.Join(accountFolder, "ca.crt"))
	if err != nil {
		return server{}, err
	}
	token, err := os.ReadFile(filepath.Join(accountFolder, "token"))
	if err != nil {
		return server{}, err
	}
	address := net.JoinHostPort(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"))
	return server{url: "https://" + address, ca: string(ca), token: strings.TrimSpace(string(token))}, nil
}

// whoAmI needs the token to be good: nobody else may ask.
func (s server) whoAmI(ctx context.Context, client *http.Client) (string, error) {
	question := []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/apis/authentication.k8s.io/v1/selfsubjectreviews", bytes.NewReader(question))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("%s answers %s", s.url, response.Status)
	}
	var answer struct {
		Status struct {
			UserInfo struct {
				Username string `json:"username"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return "", fmt.Errorf("answer of %s: %w", s.url, err)
	}
	return answer.Status.UserInfo.Username, nil
}
