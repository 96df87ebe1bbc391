package preflight

// Result is how a check ended.
type Result string

// Results. Only Failed keeps a cluster from joining.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Failed  Result = "failed"
	Skipped Result = "skipped"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	// Found is what was seen, or why nothing was looked at.
	Found string `json:"found"`
	// Remedy is what to do about it, in one sentence.
	Remedy string `json:"remedy,omitempty"`
}

// Report is everything that was looked at.
type Report struct {
	// Input is what was given: KindKubeconfig, KindValues, or empty where that cannot be told.
	Input Kind `json:"input,omitempty"`
	// Address is the API server that was asked.
	Address string  `json:"address,omitempty"`
	Checks  []Check `json:"checks"`
}

// Failures counts the checks that failed.
func (r Report) Failures() int {
	count := 0
	for _, c := range r.Checks {
		if c.Result == Failed {
			count++
		}
	}
	return count
}

// finding is what a check came to.
type finding struct {
	result Result
	found  string
	remedy string
}

func fine(found string) finding            { return finding{result: OK, found: found} }
func doubt(found, remedy string) finding   { return finding{Warning, found, remedy} }
func failure(found, remedy string) finding { return finding{Failed, found, remedy} }
func skip(why string) finding              { return finding{result: Skipped, found: why} }

// ledger collects the checks of a report. What goes into it is made printable, bounded and free of secrets, so that no
// check has to think of it.
type ledger struct {
	report  Report
	secrets []string
	// causes has, for each check that failed or could not be made for that reason, the check that failed first.
	causes map[string]string
}

func newLedger(kind Kind) *ledger {
	return &ledger{report: Report{Input: kind}, causes: map[string]string{}}
}

// hide keeps texts out of everything that is recorded from now on.
func (l *ledger) hide(secrets ...string) { l.secrets = append(l.secrets, secrets...) }

func (l *ledger) record(name string, f finding) {
	if f.result == Failed {
		l.causes[name] = name
	}
	l.report.Checks = append(l.report.Checks, Check{
		Name: name, Result: f.result, Found: clean(f.found, l.secrets), Remedy: clean(f.remedy, l.secrets),
	})
}

// after makes a check if none of those that it needs failed, and notes else which one did.
func (l *ledger) after(name string, needs []string, check func() finding) {
	for _, need := range needs {
		if cause := l.causes[need]; cause != "" {
			l.causes[name] = cause
			l.record(name, skip("not looked at, because check "+cause+" failed"))
			return
		}
	}
	l.record(name, check())
}

// passed says whether none of the checks failed, and none was left out because of one that did.
func (l *ledger) passed(names ...string) bool {
	for _, name := range names {
		if l.causes[name] != "" {
			return false
		}
	}
	return true
}
