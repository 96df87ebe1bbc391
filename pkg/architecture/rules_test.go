// Package architecture keeps the table of who may import whom, which the design has: by the imports of every package of
// this module, and by the symbols that its files use of other packages.
package architecture

import "regexp"

// rule forbids to the packages that match from, but not except, every import or symbol that matches forbid, but not
// allow. Packages of this module begin with "~/", the others with their import path; a symbol is its package and name, with
// {} where a value is composed. In allow, $1 stands for the first group of from.
type rule struct {
	name                        string
	from, except, forbid, allow string
	because                     string
}

// wired are the folders of pkg/ that are not pure. Whatever package is new is pure, until it is listed here.
const wired = `^~/pkg/(kube|desired|helmdeployer|preflight|controllers|agent|cli|generated|codegen)(/|$)`

var rules = []rule{
	{
		name: "pure packages", from: `^~/pkg/`, except: wired, forbid: wired,
		because: "a pure package imports no package that has a client",
	},
	{
		name: "pure imports", from: `^~/pkg/`, except: wired, forbid: `^[^/]+\.[^/]+/`,
		allow:   `^(k8s\.io/api|k8s\.io/apimachinery|sigs\.k8s\.io/yaml)[/.]|^sigs\.k8s\.io/yaml$|^github\.com/Masterminds/sprig/v3(\.|$)|^github\.com/rancher/wrangler/v3/pkg/(name|yaml|genericcondition)(\.|$)`,
		because: "a pure package imports the API types, apimachinery, the standard library and few libraries without a client",
	},
	{
		name: "pure inputs", from: `^~/pkg/`, except: wired,
		forbid:  `^(os|os/.*|net|net/http|log|log/.*|math/rand|math/rand/v2|crypto/rand)$|^time\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)$`,
		because: "clock, randomness, network and environment are inputs of a pure package",
	},
	{
		name: "base", from: `^~/pkg/(kube|desired|helmdeployer|generated)(/|$)`, forbid: `^~/pkg/(helmdeployer|controllers|agent|cli)(/|$)`,
		allow: `^~/pkg/$1(/|$)`, because: "what controllers and agent stand on knows neither of them",
	},
	{
		name: "preflight", from: `^~/pkg/preflight(/|$)`, forbid: `^~/pkg/(generated|helmdeployer|controllers|agent|cli)(/|$)`,
		because: "a look before joining writes nothing, and stands beside both roles",
	},
	{
		name: "controllers", from: `^~/pkg/controllers(/|$)`, forbid: `^~/pkg/(helmdeployer|agent|cli)(/|$)`,
		because: "the hub's side imports nothing of the agent's",
	},
	{
		name: "one controller", from: `^~/pkg/controllers/([^/]+)`, forbid: `^~/pkg/controllers(/|$)`, allow: `^~/pkg/controllers/$1(/|$)`,
		because: "a controller imports no other: they meet in the API, or in a pure package",
	},
	{
		name: "agent", from: `^~/pkg/agent(/|$)`, forbid: `^~/pkg/(controllers|cli)(/|$)`,
		because: "the agent imports nothing of the hub's side",
	},
	{
		name: "wiring", from: `^~`, except: `^~/pkg/cli(/|$)`, forbid: `^~/pkg/controllers$|^~/pkg/agent$`,
		because: "only the command starts the two roles",
	},
	{
		name: "command", from: `^~`, except: `^~$|^~/pkg/cli(/|$)`, forbid: `^~/pkg/cli(/|$)`,
		because: "nobody imports the command but main",
	},
	{
		name: "flags", from: `^~`, except: `^~/pkg/cli(/|$)`, forbid: `^github\.com/urfave/cli`,
		because: "only the command knows of flags",
	},
	{
		name: "helm", from: `^~`, except: `^~/pkg/helmdeployer(/|$)`, forbid: `^helm\.sh/helm/v3/pkg/action$`,
		because: "only helmdeployer runs Helm's actions",
	},
	{
		name: "connections", from: `^~`, except: `^~/pkg/(kube|generated)(/|$)`,
		forbid: `^k8s\.io/client-go/rest\.(Config\{\}|InClusterConfig)$|^k8s\.io/client-go/tools/clientcmd\.|` +
			`^github\.com/rancher/lasso/pkg/(controller|cache|client)\.New|^github\.com/rancher/wrangler/v3/pkg/apply\.New`,
		allow:   `^k8s\.io/client-go/tools/clientcmd\.Write$`,
		because: "only kube builds rest configs, factories and the apply engine: deadlines, trust and limits are set there",
	},
	{
		// T14: what nobody makes need not be renewed.
		name: "certificates", from: `^~`, forbid: `^crypto/x509\.(CreateCertificate|CreateCertificateRequest|CreateRevocationList)$`,
		because: "the product makes no certificate of its own: one without a tested renewal would end one day, and all that rests on it",
	},
	{
		// CVE-2022-31249, CVE-2022-43756, CVE-2025-23390, CVE-2022-24817: what others write must not become a command.
		name: "programs", from: `^~`, forbid: `^os/exec(\.|$)|^syscall\.(Exec|ForkExec|StartProcess)$|^os\.StartProcess$|^github\.com/go-git/`,
		because: "the product starts no program and reads no git, so that no address, name or credential of others reaches one",
	},
	{
		// CVE-2026-44937: who is asked by anybody has to bear what anybody sends.
		name: "servers", from: `^~`, except: `^~/pkg/kube$`, forbid: `^net/http\.(Server\{\}|ListenAndServe|ListenAndServeTLS|Serve|ServeTLS)$|^sigs\.k8s\.io/controller-runtime`,
		because: "the one server is that of metrics and health, which kube builds: there are no webhooks",
	},
	{
		name: "test helpers", from: `^~`, except: `^~/pkg/.*test$`, forbid: `^~/pkg/.*test$`,
		because: "helpers of tests are imported by tests alone",
	},
	{
		name: "generator", from: `^~`, except: `^~/pkg/codegen(/|$)`, forbid: `^~/pkg/codegen(/|$)`,
		because: "the generator is a tool",
	},
}

// broken says, in a sentence each, with which uses a package breaks the rule.
func (r rule) broken(pkg string, uses []string) (sentences []string) {
	from := regexp.MustCompile(r.from)
	groups := from.FindStringSubmatchIndex(pkg)
	if groups == nil || (r.except != "" && regexp.MustCompile(r.except).MatchString(pkg)) {
		return nil
	}
	forbid := regexp.MustCompile(r.forbid)
	var allow *regexp.Regexp
	if r.allow != "" {
		allow = regexp.MustCompile(string(from.ExpandString(nil, r.allow, pkg, groups)))
	}
	for _, use := range uses {
		if forbid.MatchString(use) && (allow == nil || !allow.MatchString(use)) {
			sentences = append(sentences, pkg+" uses "+use+": "+r.because)
		}
	}
	return sentences
}
