package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Keys of Kubernetes in etcd, and how many are read at once.
const (
	storedFrom  = "/registry/"
	storedUntil = "/registry0"
	storedPage  = 200
)

// storedRange is a question to etcd, and its answer, as its HTTP gateway has them: bytes are base64.
type storedRange struct {
	Key      []byte `json:"key"`
	RangeEnd []byte `json:"range_end"`
	Limit    int    `json:"limit"`
}

type storedAnswer struct {
	KVs []struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	} `json:"kvs"`
	More bool `json:"more"`
}

// Stored calls visit with every key of the API server in etcd, and the bytes that it keeps there.
func (c *ControlPlane) Stored(ctx context.Context, visit func(key string, value []byte)) error {
	url := "http://" + address(c.slot.port(portEtcd)) + "/v3/kv/range"
	from := []byte(storedFrom)
	for {
		answer, err := readStored(ctx, url, storedRange{Key: from, RangeEnd: []byte(storedUntil), Limit: storedPage})
		if err != nil {
			return fmt.Errorf("what etcd of %s stores: %w", c.Name, err)
		}
		for _, kv := range answer.KVs {
			visit(string(kv.Key), kv.Value)
		}
		if !answer.More || len(answer.KVs) == 0 {
			return nil
		}
		from = append(answer.KVs[len(answer.KVs)-1].Key, 0)
	}
}

func readStored(ctx context.Context, url string, question storedRange) (storedAnswer, error) {
	var answer storedAnswer
	body, err := json.Marshal(question)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return answer, fmt.Errorf("%s: %s", response.Status, text)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}
