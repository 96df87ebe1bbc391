package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestReachSaysWhomTheServerSees(t *testing.T) {
	refusals := 1
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusals > 0 || r.Header.Get("Authorization") != "Bearer mine" {
			refusals--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"userInfo": map[string]any{"username": "me"}}})
	}))
	defer server.Close()
	settings := map[string]string{
		"REACH_URL": server.URL, "REACH_TOKEN": "mine",
		"REACH_CA": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	}
	var out strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := reach(ctx, func(name string) string { return settings[name] }, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "reached "+server.URL+" as me\n") || !strings.Contains(out.String(), "503") {
		t.Errorf("%s", out.String())
	}

	settings["REACH_CA"] = "nothing"
	if err := reach(ctx, func(name string) string { return settings[name] }, &out); err == nil {
		t.Error("an authority without a certificate is no authority")
	}
}

func TestWhatIsAskedForIsNamed(t *testing.T) {
	if err := run(t.Context(), []string{"sing"}); err == nil || !strings.Contains(err.Error(), `"sing"`) {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, args := range [][]string{nil, {"serve", "127.0.0.1:0"}} {
		if err := run(ended, args); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}
