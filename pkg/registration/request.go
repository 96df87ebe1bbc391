package registration

import (
	"fmt"
	"io"
)

const (
	// RequestPrefix begins the name of every registration request.
	RequestPrefix  = "request-"
	randomAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	randomLength   = 54
)

// Random makes a token of 54 characters that nobody can guess.
func Random(random io.Reader) (string, error) {
	out := make([]byte, 0, randomLength)
	// A byte is used only below the largest multiple of the alphabet's size, or some characters would be likelier.
	limit := byte(256 / len(randomAlphabet) * len(randomAlphabet))
	var buffer [randomLength]byte
	for len(out) < randomLength {
		if _, err := io.ReadFull(random, buffer[:]); err != nil {
			return "", fmt.Errorf("reading randomness: %w", err)
		}
		for _, b := range buffer {
			if b < limit && len(out) < randomLength {
				out = append(out, randomAlphabet[int(b)%len(randomAlphabet)])
			}
		}
	}
	return string(out), nil
}

// RequestName makes the name of a request.
func RequestName(random io.Reader) (string, error) {
	suffix, err := Random(random)
	if err != nil {
		return "", err
	}
	return RequestPrefix + suffix, nil
}
