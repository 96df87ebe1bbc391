package drift

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is an object as we set it and as it is found.
type pair struct{ name, desired, live, options, patch string }

// patchOf is what the comparison of the pair says.
func (p pair) patchOf(t *testing.T) string {
	t.Helper()
	desired, live := objects(t, p.desired), ours(objects(t, p.live))
	require.Len(t, live, 1)
	plan := Compile(Wanted{Hash: ourHash, Namespace: "default", Objects: desired, Options: options(t, p.options)}, scope)
	found, change := plan.Examine(keyOf(live[0], "default", scope), live[0])
	assert.Equal(t, found.Patch != "", change != nil)
	return found.Patch
}

// H06: what the server, a controller or a webhook added or wrote in its own way is no drift.
func TestWhatOthersAddedIsNoDifference(t *testing.T) {
	for _, test := range []pair{
		{name: "defaults of a Deployment", desired: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, creationTimestamp: null, labels: {app: a}}
spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  strategy: {}
  template:
    metadata: {labels: {app: a}, creationTimestamp: null}
    spec:
      containers:
      - name: a
        image: a
        env: [{name: EMPTY, value: ""}, {name: "NULL", value: null}]
        ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}]
        resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5}}
        securityContext: {}
        tty: false
      nodeSelector: null
      tolerations: []
      volumes: [{name: v, emptyDir: {}}]
status: {}
`, live: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: default, uid: u, generation: 3, labels: {app: a, more: x}, annotations: {deployment.kubernetes.io/revision: "1"}}
spec:
  replicas: 1
  progressDeadlineSeconds: 600
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: a}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: a}, annotations: {injected: "true"}}
    spec:
      containers:
      - {name: sidecar, image: injected}
      - name: a
        image: a
        imagePullPolicy: Always
        env: [{name: INJECTED, value: x}, {name: EMPTY}, {name: "NULL"}]
        ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]
        resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 500m}}
        securityContext: {}
        terminationMessagePath: /dev/termination-log
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      volumes: [{name: token, projected: {}}, {name: v, emptyDir: {}}]
status: {replicas: 1}
`},
		{name: "replicas as a text", desired: `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
spec: {replicas: "0", on: "true", ratio: 1.0}
`, live: `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, namespace: default}
spec: {replicas: 0, on: true, ratio: 1}
`},
		{name: "nulls and a status", desired: `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, annotations: null}
spec: {a: null, b: {c: null}, list: [{a: 1, b: null}]}
status: {phase: wanted}
`, live: `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, namespace: default}
spec: {list: [{a: 1, defaulted: 2}]}
status: {phase: found}
`},
		{name: "an injected CA bundle", desired: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- name: one.example.com
  clientConfig: {service: {name: s, namespace: n}, caBundle: Cg==}
- name: two.example.com
  clientConfig: {service: {name: s, namespace: n}, caBundle: ""}
- name: three.example.com
  clientConfig: {service: {name: s, namespace: n}}
`, live: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- name: one.example.com
  clientConfig: {service: {name: s, namespace: n, port: 443}, caBundle: QUJD}
- name: two.example.com
  clientConfig: {service: {name: s, namespace: n, port: 443}, caBundle: QUJD}
- name: three.example.com
  clientConfig: {service: {name: s, namespace: n, port: 443}, caBundle: QUJD}
`},
		{name: "an aggregated ClusterRole", desired: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: []
`, live: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`},
		{name: "the plain data of a Secret", desired: `
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData: {password: secret}
data: {user: "YWRt\naW4="}
`, live: `
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: default}
type: Opaque
data: {password: c2VjcmV0, user: YWRtaW4=}
`},
		{name: "an address that the cluster chose", desired: `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {clusterIP: "", ports: [{port: 80, nodePort: 0}], selector: {app: a}}
`, live: `
apiVersion: v1
kind: Service
metadata: {name: a, namespace: default}
spec:
  clusterIP: 10.0.0.1
  clusterIPs: [10.0.0.1]
  ports: [{port: 80, nodePort: 31000, protocol: TCP, targetPort: 80}]
  selector: {app: a}
`},
		{name: "defaults in lists without names", desired: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}], egress: []}
`, live: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a, namespace: default}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80, protocol: TCP}]}], policyTypes: [Ingress]}
`},
		{name: "a CustomResourceDefinition", desired: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com, creationTimestamp: null}
spec:
  group: example.com
  preserveUnknownFields: false
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: false
    additionalPrinterColumns: []
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, nullable: false}}}}
status: {acceptedNames: {kind: "", plural: ""}, conditions: [], storedVersions: []}
`, live: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  conversion: {strategy: None}
  group: example.com
  names: {kind: Thing, plural: things, listKind: ThingList, singular: thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
status: {storedVersions: [v1]}
`},
		{name: "its own labels of the set", desired: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {objectset.rio.cattle.io/hash: other}, annotations: {objectset.rio.cattle.io/id: x}}
data: {a: b}
`, live: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
data: {a: b, added: c}
`},
	} {
		t.Run(test.name, func(t *testing.T) { assert.Empty(t, test.patchOf(t)) })
	}
}

func TestWhatOthersChangedIsADifference(t *testing.T) {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {marked: ""}}
spec:
  replicas: 2
  template:
    spec:
      automountServiceAccountToken: false
      containers:
      - name: a
        image: a:1
        args: [v, w]
        env: [{name: ONE, value: "1"}, {name: TWO, value: "2"}]
        securityContext: {allowPrivilegeEscalation: false}
        tty: false
      - {name: b, image: b}
`
	live := func(metadata, spec, a, rest string) string {
		return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: default, labels: {objectset.rio.cattle.io/hash: "` + ourHash + `"` + metadata + `}}
spec: {` + spec + `, template: {spec: {automountServiceAccountToken: false, containers: [{name: a` + a + `}` + rest + `]}}}
`
	}
	const (
		same  = `, image: "a:1", args: [v, w], env: [{name: ONE, value: "1"}, {name: TWO, value: "2"}], securityContext: {allowPrivilegeEscalation: false}`
		two   = `replicas: 2`
		other = `, {name: b, image: b}`
		mark  = `, marked: ""`
	)
	for _, test := range []pair{
		{name: "nothing", desired: deployment, live: live(mark, two, same, other), patch: ""},
		{name: "replicas", desired: deployment, live: live(mark, "replicas: 0", same, other), patch: `{"spec":{"replicas":2}}`},
		{name: "a label without a value", desired: deployment, live: live("", two, same, other), patch: `{"metadata":{"labels":{"marked":""}}}`},
		{name: "an image", desired: deployment,
			live:  live(mark, two, `, image: "a:2", args: [v, w], env: [{name: ONE, value: "1"}, {name: TWO, value: "2"}], securityContext: {allowPrivilegeEscalation: false}`, other),
			patch: `{"spec":{"template":{"spec":{"containers":[{"image":"a:1","name":"a"}]}}}}`},
		{name: "a container is gone", desired: deployment, live: live(mark, two, same, ""),
			patch: `{"spec":{"template":{"spec":{"containers":[{"image":"b","name":"b"}]}}}}`},
		{name: "an argument more, a variable less", desired: deployment,
			live:  live(mark, two, `, image: "a:1", args: [v, w, z], env: [{name: TWO, value: "2"}], securityContext: {allowPrivilegeEscalation: false}`, other),
			patch: `{"spec":{"template":{"spec":{"containers":[{"args":["v","w"],"env":[{"name":"ONE","value":"1"}],"name":"a"}]}}}}`},
		{name: "a false that meant something is gone", desired: deployment,
			live:  live(mark, two, `, image: "a:1", args: [v, w], env: [{name: ONE, value: "1"}, {name: TWO, value: "2"}]`, other),
			patch: `{"spec":{"template":{"spec":{"containers":[{"name":"a","securityContext":{"allowPrivilegeEscalation":false}}]}}}}`},
		{name: "a false that is now true", desired: deployment, live: live(mark, two, same+", tty: true", other),
			patch: `{"spec":{"template":{"spec":{"containers":[{"name":"a","tty":false}]}}}}`},
		{name: "data", desired: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b, c: ''}",
			live: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {a: x}", patch: `{"data":{"a":"b","c":""}}`},
		{name: "all data", desired: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: ''}",
			live: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}", patch: `{"data":{"a":""}}`},
		{name: "values of a Secret are not shown", desired: "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {copy: secret}}\nstringData: {password: secret}\ntype: Opaque",
			live:  "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\ndata: {password: bm9uZQ==}\ntype: other",
			patch: `{"data":{"password":"(hidden)"},"metadata":{"annotations":{"copy":"(hidden)"}},"type":"Opaque"}`},
		{name: "a port of a Service", desired: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{name: http, port: 80}]}",
			live:  "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: default}\nspec: {ports: [{name: http, port: 81, targetPort: 80, protocol: TCP}]}",
			patch: `{"spec":{"ports":[{"name":"http","port":80}]}}`},
		{name: "a field of a custom resource", desired: "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {used: false, list: [1, 2], empty: {}}",
			live:  "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: default}\nspec: {list: [1]}",
			patch: `{"spec":{"list":[1,2],"used":false}}`},
		{name: "a CA bundle that is ours", desired: "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: w, clientConfig: {caBundle: QUJD}}]",
			live:  "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: w, clientConfig: {caBundle: REVG}}]",
			patch: `{"webhooks":[{"clientConfig":{"caBundle":"QUJD"},"name":"w"}]}`},
		{name: "the rules of a plain ClusterRole", desired: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{verbs: [get]}]",
			live:  "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{verbs: [get, list]}]",
			patch: `{"rules":[{"verbs":["get"]}]}`},
		{name: "another type altogether", desired: "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {map: {a: 1}, list: [{a: 1}], text: x}",
			live:  "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: default}\nspec: {map: [1], list: {a: 1}, text: {a: 1}}",
			patch: `{"spec":{"list":[{"a":1}],"map":{"a":1},"text":"x"}}`},
	} {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.patch, test.patchOf(t)) })
	}
}

func TestComparisonLeavesTheObjectsAsTheyAre(t *testing.T) {
	desired := objects(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, creationTimestamp: null}\nstringData: {a: b}")
	live := ours(objects(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\ndata: {a: eA==}"))
	before, found := desired[0].DeepCopy(), live[0].DeepCopy()
	plan := Compile(Wanted{Hash: ourHash, Namespace: "default", Objects: desired, Options: options(t, `
diff: {comparePatches: [{apiVersion: v1, kind: Secret, jsonPointers: [/data/a]}]}`)}, scope)
	observed, _ := plan.Examine(plan.Keys()[0], live[0])
	assert.Empty(t, observed.Patch)
	assert.Equal(t, before, desired[0])
	assert.Equal(t, found, live[0])
}
