package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// jsonErrorsVariable makes the program write its error for programs: a job that runs it looks for that line in its output.
const jsonErrorsVariable = "FLEET_JSON_OUTPUT"

// jsonError is that line. level and msg are those of a log's line, as which others read it.
type jsonError struct {
	Message string `json:"fleetErrorMessage"`
	Level   string `json:"level"`
	Text    string `json:"msg"`
}

// printError tells why the program fails: in one line for people or, if the environment says so, in one of JSON.
func printError(out io.Writer, getenv func(string) string, err error) {
	text := printableLines(err.Error(), maxError) // it may quote what a server said
	if wanted, _ := strconv.ParseBool(getenv(jsonErrorsVariable)); wanted {
		if line, failed := json.Marshal(jsonError{Message: text, Level: "fatal", Text: text}); failed == nil {
			fmt.Fprintln(out, string(line))
			return
		}
	}
	fmt.Fprintln(out, "fleet: "+text)
}
