package count

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// auditEvent has the few fields of an audit log's line that are counted.
type auditEvent struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
}

// ReadAuditLog counts the requests in an API server's audit log (JSON lines). Each request is counted once, when it is
// answered, a watch when it starts. A last line that is still being written is left for the next call.
func ReadAuditLog(path string) (Counts, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer file.Close()

	counts := Counts{}
	lines := bufio.NewReaderSize(file, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit log %s: %w", path, err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("audit log %s, line %d: %w", path, number, err)
		}
		if event.counts() {
			counts[event.key()]++
		}
	}
}

// counts picks one stage per request: the end of a watch says nothing new.
func (e *auditEvent) counts() bool {
	if e.Verb == "watch" {
		return e.Stage == "ResponseStarted"
	}
	return e.Stage == "ResponseComplete"
}

func (e *auditEvent) key() Key {
	key := Key{User: e.User.Username, UserAgent: ClientName(e.UserAgent), Verb: e.Verb}
	if e.ObjectRef == nil {
		key.Path, _, _ = strings.Cut(e.RequestURI, "?")
		return key
	}
	key.Group, key.Resource, key.Subresource = e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource
	return key
}
