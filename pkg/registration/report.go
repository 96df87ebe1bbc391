package registration

// MaxAgentText is how many characters of its version and of its generation an agent reports in status.agent. The API
// server refuses more.
const MaxAgentText = 64

// AgentText is as much of a text as an agent may report: a report that is refused would make it look silent.
func AgentText(text string) string {
	count := 0
	for i := range text {
		if count++; count > MaxAgentText {
			return text[:i]
		}
	}
	return text
}
