package count

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// auditEvent has the few fields of an audit log's line that are counted.
type auditEvent struct {
	Stage      string    `json:"stage"`
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	UserAgent  string    `json:"userAgent"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	Reached    time.Time `json:"stageTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// decision is where the API server notes whether the authorizer has let a request pass.
const decision = "authorization.k8s.io/decision"

// Entry is one request of an audit log. Of a watch it is the start.
type Entry struct {
	Key
	Object
	Code               int
	Received, Answered time.Time
	// Unauthorized says that the authorizer refused it. That a policy, a quota or the end of a namespace did is another
	// matter, with the same code.
	Unauthorized bool
}

// AuditLog reads an API server's audit log (JSON lines) while the server writes it.
type AuditLog struct {
	path   string
	offset int64
	lines  int
}

// NewAuditLog reads from the beginning. The file may come later.
func NewAuditLog(path string) *AuditLog { return &AuditLog{path: path} }

// Read visits all requests that were answered since the last call, in the order of their answers. A last line that is
// still being written is left for the next call.
func (l *AuditLog) Read(visit func(Entry)) error {
	file, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return fmt.Errorf("audit log %s: %w", l.path, err)
	}
	lines := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit log %s: %w", l.path, err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("audit log %s, line %d: %w", l.path, l.lines+1, err)
		}
		l.offset, l.lines = l.offset+int64(len(line)), l.lines+1
		if event.counts() {
			visit(event.entry())
		}
	}
}

// ReadAuditLog counts the requests in an API server's audit log. Each request is counted once, when it is answered, a
// watch when it starts.
func ReadAuditLog(path string) (Counts, error) {
	counts := Counts{}
	if err := NewAuditLog(path).Read(func(e Entry) { counts[e.Key]++ }); err != nil {
		return nil, err
	}
	return counts, nil
}

// counts picks one stage per request: the end of a watch says nothing new.
func (e *auditEvent) counts() bool {
	if e.Verb == "watch" {
		return e.Stage == "ResponseStarted"
	}
	return e.Stage == "ResponseComplete"
}

func (e *auditEvent) entry() Entry {
	entry := Entry{
		Key:  Key{User: e.User.Username, UserAgent: ClientName(e.UserAgent), Verb: e.Verb},
		Code: e.ResponseStatus.Code, Received: e.Received, Answered: e.Reached,
		Unauthorized: e.Annotations[decision] == "forbid",
	}
	if e.ObjectRef == nil {
		entry.Path, _, _ = strings.Cut(e.RequestURI, "?")
		return entry
	}
	ref := e.ObjectRef
	entry.Group, entry.Resource, entry.Subresource = ref.APIGroup, ref.Resource, ref.Subresource
	entry.Object = Object{Namespace: ref.Namespace, Name: ref.Name}
	return entry
}
