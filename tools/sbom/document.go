package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// unknown is SPDX's word for what a document does not say.
const unknown = "NOASSERTION"

// document is an SPDX 2.3 document, as far as it is written here.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID               string        `json:"SPDXID"`
	Name             string        `json:"name"`
	Version          string        `json:"versionInfo"`
	FileName         string        `json:"packageFileName,omitempty"`
	Location         string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	LicenseConcluded string        `json:"licenseConcluded"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	Copyright        string        `json:"copyrightText"`
	Checksums        []checksum    `json:"checksums,omitempty"`
	References       []externalRef `json:"externalRefs"`
	Comment          string        `json:"comment,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// about is what the binary does not say of itself.
type about struct {
	file, version, sha256 string
	created               time.Time
}

// describe is the document of a binary. Its order is that of the names.
func describe(info *debug.BuildInfo, a about) document {
	product := module("SPDXRef-product", info.Main.Path, a.version)
	product.FileName, product.LicenseDeclared = a.file, "Apache-2.0"
	product.Checksums = []checksum{{Algorithm: "SHA256", Value: a.sha256}}
	packages := []pkg{module("SPDXRef-go", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	deps := slices.Clone(info.Deps)
	slices.SortFunc(deps, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	for i, dep := range deps {
		id := fmt.Sprintf("SPDXRef-module-%d", i+1)
		switch {
		case dep.Replace != nil && dep.Replace.Version == "": // a folder of the repository
			packages = append(packages, module(id, dep.Path, a.version))
		case dep.Replace != nil:
			packages = append(packages, summed(module(id, dep.Replace.Path, dep.Replace.Version), dep.Replace.Sum))
		default:
			packages = append(packages, summed(module(id, dep.Path, dep.Version), dep.Sum))
		}
	}
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: a.file,
		Namespace: "https://" + info.Main.Path + "/sbom/" + a.sha256,
		Creation:  creation{Created: a.created.Format(time.RFC3339), Creators: []string{"Tool: " + info.Main.Path + "/tools/sbom"}},
		Packages:  append([]pkg{product}, packages...),
	}
	d.Relationships = append(d.Relationships, relationship{From: d.ID, Type: "DESCRIBES", To: product.ID})
	for _, p := range packages {
		d.Relationships = append(d.Relationships, relationship{From: product.ID, Type: "DEPENDS_ON", To: p.ID})
	}
	return d
}

func module(id, path, version string) pkg {
	return pkg{
		ID: id, Name: path, Version: version, Location: unknown, LicenseConcluded: unknown, LicenseDeclared: unknown, Copyright: unknown,
		References: []externalRef{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl(path, version)}},
	}
}

// summed keeps the hash that go.sum has. It is one of a tree of files, so no checksum in SPDX's sense.
func summed(p pkg, sum string) pkg {
	if sum != "" {
		p.Comment = "go.sum " + sum
	}
	return p
}

// purl names a module for programs that compare with lists of vulnerabilities.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
