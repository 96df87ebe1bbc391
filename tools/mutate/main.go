// Command mutate shows that the tests guard what they claim to: it takes one defence after another out of the source and
// expects a test to fail. The source itself stays as it is; the compiler is given the changed file in its place (go test
// -overlay).
//
//	scripts/mutate [-only REGEXP] [-list]
//
// The defences are in defences.yaml, beside this file. It exits with 1 where a defence can go and no test notices, or where
// a defence is no longer where the list says.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

//go:embed defences.yaml
var listed []byte

func main() {
	only := flag.String("only", "", "take out only defences whose name matches this regular expression")
	list := flag.Bool("list", false, "list the defences and do nothing")
	flag.Parse()
	if err := run(*only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(only string, list bool) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	defences, err := parse(listed)
	if err != nil {
		return err
	}
	bad, done := 0, 0
	for _, d := range defences {
		if !chosen.MatchString(d.Name) {
			continue
		}
		done++
		if list {
			fmt.Println(d)
			continue
		}
		begin := time.Now()
		verdict, ok := try(".", d)
		if !ok {
			bad++
		}
		fmt.Printf("%-7s %5.1f s  %s: %s\n", map[bool]string{true: "ok", false: "FAILED"}[ok], time.Since(begin).Seconds(), d, verdict)
	}
	switch {
	case done == 0:
		return fmt.Errorf("no defence matches %q", only)
	case bad > 0:
		return fmt.Errorf("%d of %d defences can go and no test says so, or are not where the list says", bad, done)
	}
	return nil
}
