package kube

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/leaderelection"
)

// Election says which lease is contested, as whom, and how patiently.
type Election struct {
	Namespace, Name, Identity                 string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Environment variables that tune the election, part of the charts' contract.
const (
	EnvLeaseDuration = "CATTLE_ELECTION_LEASE_DURATION"
	EnvRenewDeadline = "CATTLE_ELECTION_RENEW_DEADLINE"
	EnvRetryPeriod   = "CATTLE_ELECTION_RETRY_PERIOD"
)

const (
	defaultLeaseDuration = 30 * time.Second
	defaultRenewDeadline = 25 * time.Second
	defaultRetryPeriod   = 10 * time.Second
)

// ElectionFromEnv reads the three durations; a variable that is not set has its default. Namespace, name and identity
// are for the caller to fill in.
func ElectionFromEnv(getenv func(string) string) (Election, error) {
	e := Election{LeaseDuration: defaultLeaseDuration, RenewDeadline: defaultRenewDeadline, RetryPeriod: defaultRetryPeriod}
	for _, v := range []struct {
		name  string
		value *time.Duration
	}{
		{EnvLeaseDuration, &e.LeaseDuration},
		{EnvRenewDeadline, &e.RenewDeadline},
		{EnvRetryPeriod, &e.RetryPeriod},
	} {
		text := getenv(v.name)
		if text == "" {
			continue
		}
		parsed, err := time.ParseDuration(text)
		if err != nil {
			return Election{}, fmt.Errorf("%s: %w (write it like 30s)", v.name, err)
		}
		*v.value = parsed
	}
	return e, e.validate()
}

// validate names the variables, since that is where the values come from. A lease is stored in whole seconds.
func (e Election) validate() error {
	switch {
	case e.LeaseDuration < time.Second:
		return fmt.Errorf("%s is %s: it must be at least 1s", EnvLeaseDuration, e.LeaseDuration)
	case e.RetryPeriod <= 0:
		return fmt.Errorf("%s is %s: it must be above 0", EnvRetryPeriod, e.RetryPeriod)
	case e.LeaseDuration <= e.RenewDeadline:
		return fmt.Errorf("%s (%s) must be above %s (%s)", EnvLeaseDuration, e.LeaseDuration, EnvRenewDeadline, e.RenewDeadline)
	case e.RenewDeadline <= time.Duration(leaderelection.JitterFactor*float64(e.RetryPeriod)):
		return fmt.Errorf("%s (%s) must be above %.1f times %s (%s)",
			EnvRenewDeadline, e.RenewDeadline, leaderelection.JitterFactor, EnvRetryPeriod, e.RetryPeriod)
	}
	return nil
}

// Identity is the holder that this process writes into the lease: the pod's name, which survives a restart of the
// container, else host, process and something random, so that two processes on one host never take each other for
// themselves.
func Identity(podName string) string {
	if podName != "" {
		return podName
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	random := make([]byte, 4)
	_, _ = rand.Read(random) // crypto/rand ends the process rather than return an error
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), hex.EncodeToString(random))
}
