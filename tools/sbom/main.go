// Command sbom writes what a Go binary is made of, as an SPDX 2.3 document: its modules with their versions and hashes, from
// the build information that the linker put into it, and the version of Go. The same binary gives the same bytes.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"
)

func main() {
	log.SetFlags(0)
	binary := flag.String("binary", "", "the Go binary to read")
	out := flag.String("out", "", "the file to write")
	version := flag.String("version", "dev", "version of the product")
	created := flag.Int64("created", 0, "when it was made, in seconds since 1970: the time of the commit, not of the build")
	flag.Parse()
	if err := write(*binary, *out, *version, time.Unix(*created, 0).UTC()); err != nil {
		log.Fatalf("sbom: %v", err)
	}
}

func write(binary, out, version string, created time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("%s has no build information: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	document, err := json.MarshalIndent(describe(info, about{
		file: filepath.Base(binary), version: version, sha256: hex.EncodeToString(sum[:]), created: created,
	}), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(document, '\n'), 0o644)
}
