package sandbox

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata anew instead of comparing with it")

func sample() map[string]any {
	return map[string]any{
		"ClusterName":   "edge",
		"ClusterLabels": map[string]any{"env": "prod", "b": "2", "a": "1"},
		"ClusterValues": map[string]any{"zones": []any{"x", "y"}, "deep": map[string]any{"n": int64(3)}},
	}
}

func TestTemplatesAreFilledIn(t *testing.T) {
	for text, want := range map[string]string{
		"plain {{ .Release }}":                                                "plain {{ .Release }}",
		"a: ${ .ClusterLabels.env }":                                          "a: prod",
		"${ .ClusterName | upper | quote }":                                   `"EDGE"`,
		"${ keys .ClusterLabels | join \",\" }":                               "a,b,env",
		"${ values .ClusterLabels | join \",\" }":                             "1,2,prod",
		"${ range .ClusterValues.zones }<${ . }>${ end }":                     "<x><y>",
		"${ range $i, $z := .ClusterValues.zones }${ $i }${ end}":             "01",
		"${ if eq .ClusterLabels.env \"dev\" \"prod\" }y${ end }":             "y",
		"${ if ne 1 2 }y${ end }${ if lt 1 2 }z${ end }":                      "yz",
		"${ if and (hasKey .ClusterLabels \"env\") true }y${end}":             "y",
		"${ hasKey .ClusterLabels \"no\" }":                                   "false",
		"${ get .ClusterLabels \"no\" | default \"d\" }":                      "d",
		"${ toJson .ClusterValues.deep }":                                     `{"n":3}`,
		"${ printf \"%s-%03d\" .ClusterName 7 }":                              "edge-007",
		"${ define \"t\" }[${ . }]${ end }${ template \"t\" 5 }":              "[5]",
		"${ regexReplaceAll \"a(x*)b\" \"-ab-axxb-\" \"${1}W\" }":             "-W-xxW-",
		"${ range until 3 }${ if eq . 1 }${ continue }${ end }${ . }${ end }": "02",
		"${ $d := dict \"a\" 1 }${ $_ := set $d \"b\" 2 }${ toJson $d }":      `{"a":1,"b":2}`,
	} {
		got, err := New().Execute(text, sample())
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"${ .ClusterLabels.missing }":           `map has no entry for key "missing"`,
		"${ .Nothing }":                         `map has no entry for key "Nothing"`,
		"${ nofunction }":                       `function "nofunction" not defined`,
		"${ if }":                               "missing value for if",
		"${ fail \"not for this cluster\" }":    "not for this cluster",
		"${ now }":                              "the function now cannot be used in values: it gives another result each time",
		"${ randAlphaNum 5 }":                   "gives another result each time",
		"${ env \"HOME\" }":                     "reads what lies outside",
		"${ getHostByName \"x\" }":              "reads what lies outside",
		"${ tpl \"x\" . }":                      "belongs to charts",
		"${ div 1 0 }":                          "divide by zero",
		"${ eq 1 }":                             "wrong number of arguments for eq: 1",
		"${ lt 1 \"a\" }":                       "incompatible types for comparison",
		"${ regexMatch \"(\" \"x\" }":           "missing closing )",
		"${ index .ClusterLabels \"missing\" }": "an action gives no value",
		"${ required \"x\" }":                   "not defined",
	} {
		_, err := New().Execute(text, sample())
		require.ErrorContains(t, err, want, text)
		checkMessage(t, err)
	}
}

func checkMessage(t *testing.T, err error) {
	t.Helper()
	require.LessOrEqual(t, len(err.Error()), maxMessage)
	require.Less(t, strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }), 0, "%q", err)
}

// Each of these would hold up the hub, take its memory or end its process, if it ran to its end.
func TestExpensiveTemplatesEndSoon(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for name, text := range map[string]string{
		"a loop without a body":        "${ range 1000000000000 }${ end }",
		"a loop of assignments":        "${ $x := 1 }${ range 1000000000000 }${ $x = 2 }${ end }",
		"loops in loops":               "${ range 100000 }${ range 100000 }${ range 100000 }${ end }${ end }${ end }",
		"a loop that goes on":          "${ range 1000000000000 }${ continue }${ end }",
		"a template that calls itself": "${ define \"t\" }${ template \"t\" . }${ end }${ template \"t\" . }",
		"templates that call twice": "${ define \"a\" }${ template \"b\" . }${ template \"b\" . }${ end }" +
			"${ define \"b\" }${ template \"a\" . }${ template \"a\" . }${ end }${ template \"a\" . }",
		"repeat":                 "${ repeat 1000000000000 \"x\" }",
		"repeat of repeats":      "${ repeat 4000 \"" + long + "\" | repeat 4000 | repeat 4000 }",
		"indent":                 "${ indent 1000000000 \"x\" }",
		"nindent of many lines":  "${ nindent 100000 (repeat 1000 \"\\n\") }",
		"until":                  "${ until 1000000000 }",
		"until below zero":       "${ until -1000000000 }",
		"untilStep":              "${ untilStep 0 1000000000 1 }",
		"untilStep at the limit": "${ untilStep -9223372036854775808 9223372036854775807 1 }",
		"seq":                    "${ seq 1 1000000000 }",
		"seq of three":           "${ seq 1 1 1000000000 }",
		"replace":                "${ $x := repeat 10000 \"a\" }${ replace \"a\" $x $x }",
		"replace of nothing":     "${ $x := repeat 10000 \"a\" }${ replace \"\" $x $x }",
		"join":                   "${ $x := repeat 10000 \"a\" }${ join $x (until 10000) }",
		"wrapWith":               "${ $x := repeat 10000 \"a\" }${ wrapWith 1 $x $x }",
		"a wide format":          "${ range 1000000 }${ printf \"%1000000d\" 1 }${ end }",
		"a format of stars":      "${ printf \"%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d\" 1000000 1 }",
		"a format that repeats":  "${ $x := repeat 100000 \"a\" }${ printf (repeat 10000 \"%[1]s\") $x }",
		"a list of itself":       "${ $x := list 1 }${ range 100 }${ $x = list $x $x }${ end }${ toJson $x }",
		"a text of itself":       "${ $x := \"a\" }${ range 100 }${ $x = print $x $x }${ end }",
		"concat of itself":       "${ $x := list 1 }${ range 100 }${ $x = concat $x $x }${ end }",
		"uniq":                   "${ uniq (until 100000) }",
		"without":                "${ without (until 10000) (until 10000) }${ range 100 }${ uniq (until 5000) }${ end }",
		"mulf":                   "${ mulf 1.1 " + strings.Repeat("1.1 ", 5000) + "}",
		"a regular expression":   "${ regexMatch (repeat 20 \"(a{1,30}){1,30}\") (repeat 100000 \"a\") }",
		"regexReplaceAll":        "${ $x := repeat 10000 \"a\" }${ regexReplaceAll \"\" $x $x }",
		"a long expression":      "${ regexMatch (repeat 1001 \"a\") \"a\" }",
		"comparisons":            "${ $x := repeat 1000000 \"a\" }${ range 1000000 }${ $y := eq $x $x }${ end }",
		"a dictionary in itself": "${ $d := dict }${ $_ := set $d \"d\" $d }${ print $d }",
		"a circle of two":        "${ $a := dict }${ $b := dict \"a\" $a }${ $_ := set $a \"b\" $b }${ print $a }",
		"a circle by merge":      "${ $a := dict }${ $b := dict \"a\" $a }${ $_ := merge $a $b }${ print $a }",
		"a nest":                 "${ $x := list 1 }${ range 200 }${ $x = list $x }${ end }${ toPrettyJson $x }",
		"a long output":          "${ range 100 }" + strings.Repeat("x", 100_000) + "${ end }",
		"parentheses":            "${ " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + " }",
		"too many actions":       strings.Repeat("${ 1 }", MaxActions+1),
		"nested conditions":      strings.Repeat("${ if true }", MaxActions/2+1) + strings.Repeat("${ end }", MaxActions/2+1),
		"too long a template":    strings.Repeat("x", MaxText+1),
	} {
		t.Run(name, func(t *testing.T) {
			before := testing.AllocsPerRun(1, func() {
				_, err := New().Execute(text, sample())
				require.Error(t, err)
				checkMessage(t, err)
			})
			// What is made is counted by the budget; this finds what it does not see.
			assert.Less(t, before, 10_000_000.0)
		})
	}
}

func TestOrdinarySizesAreWithinTheBudget(t *testing.T) {
	data := sample()
	big := map[string]any{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		big[key] = strings.Repeat("line of a dashboard\n", 5000)
	}
	data["ClusterValues"] = big
	text := strings.Repeat("key: ${ .ClusterLabels.env | default \"x\" | quote }\n", 3000) +
		"big: ${ toJson .ClusterValues | nindent 2 }\n"
	_, err := New().Execute(text, data)
	require.NoError(t, err)
}

func TestOneClustersWorkIsNotAnothers(t *testing.T) {
	engine := New()
	for range 100 {
		_, err := engine.Execute("${ repeat 1000000 \"a\" }", sample())
		require.NoError(t, err)
	}
}

func TestDataIsNotChanged(t *testing.T) {
	data := sample()
	_, err := New().Execute("${ $_ := set .ClusterValues.deep \"n\" 4 }${ $_ := unset .ClusterLabels \"env\" }"+
		"${ $_ := mergeOverwrite .ClusterValues (dict \"zones\" 1) }", data)
	require.NoError(t, err)
	assert.Equal(t, sample(), data)
}

// The same text for the same cluster is the same version, or the bundle would be deployed for ever.
func TestResultsAreTheSameEachTime(t *testing.T) {
	text := "${ keys .ClusterLabels }${ values .ClusterLabels }${ .ClusterLabels }${ toYamlish }"
	text = strings.TrimSuffix(text, "${ toYamlish }") + "${ range $k, $v := .ClusterLabels }${ $k }${ $v }${ end }${ toJson . }"
	first, err := New().Execute(text, sample())
	require.NoError(t, err)
	for range 50 {
		again, err := New().Execute(text, sample())
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

// A new release of sprig may bring functions that a template must not have. Whoever rewrites this list looks at each.
func TestFunctionsAreThoseThatWereLookedAt(t *testing.T) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(sprig.TxtFuncMap())) {
		if denied[name] != "" {
			name += " (denied)"
		}
		names = append(names, name)
	}
	got := strings.Join(names, "\n") + "\n"
	const path = "testdata/functions.txt"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestBoundedIsOnePrintableLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"a  b\n\tc":               "a b c",
		"\x1b[2Jx\x00\xff":        ".[2Jx..",
		strings.Repeat("é", 1000): strings.Repeat("é", 148) + "…",
	} {
		assert.Equal(t, want, Bounded(text))
	}
}

func FuzzExecute(f *testing.F) {
	for _, seed := range []string{
		"", "${", "${ }", "${ .ClusterLabels.env }", "${ range 9 }${ . }${ end }", "${ define \"a\" }${ end }${ block \"b\" . }${ end }",
		"${ repeat 9 \"a\" | indent 2 }", "${ $d := dict }${ set $d \"a\" $d }", "${ printf \"%9s%[1]v%*d\" 1 }", "${- /* x */ -}",
		"${ regexFindAll \"a*\" \"aa\" -1 }", "${ seq 1 2 9 }", "${ with $x := 1 }${ else with 2 }${ else }${ end }", "${ break }",
		"${ index .ClusterValues.zones 5 }", "${ call .ClusterName }", "${ slice \"abc\" 1 9 }", "${ fromJson \"[[\" }", "${ chunk 0 (list 1) }",
		"${ dig \"a\" \"b\" 1 .ClusterValues }", "${ semverCompare \">1\" \"2\" }", "${ nil }", "${ merge (dict) (dict \"a\" (list 1)) }",
	} {
		f.Add(seed)
	}
	engine := New()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		data := sample()
		first, err := engine.Execute(text, data)
		require.Equal(t, sample(), data)
		if err != nil {
			checkMessage(t, err)
			return
		}
		require.LessOrEqual(t, len(first), MaxText)
		again, err := New().Execute(text, data)
		require.NoError(t, err)
		require.Equal(t, first, again)
	})
}
