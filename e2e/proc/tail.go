package proc

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBytes bounds what is read of a log.
const tailBytes = 64 << 10

// Tail is the end of a log file, for the message of a failure. It never fails: what went wrong is in what it returns.
func Tail(path string, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = file.Seek(-tailBytes, io.SeekEnd)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return fmt.Sprintf("(log cannot be read: %v)", err)
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
