package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// schema is what a JSON schema says that the charts use.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Enum                 []any              `json:"enum"`
	AnyOf                []schema           `json:"anyOf"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	Definitions          map[string]*schema `json:"definitions"`
}

// terms are the definitions of the charts that a reader needs no more of than a word.
var terms = map[string]string{"duration": "duration", "flag": "true or false", "count": "number", "text": "text", "labels": "map"}

// types are JSON's types in words.
var types = map[string]string{
	"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "object": "map", "array": "list", "null": "null",
}

// tags are YAML's types in words, for a value of which the schema says nothing.
var tags = map[string]string{"!!bool": "true or false", "!!int": "number", "!!str": "text", "!!map": "map", "!!seq": "list"}

func readSchema(source []byte) (*schema, error) {
	s := &schema{}
	return s, json.Unmarshal(source, s)
}

// resolve follows a reference to a definition.
func (s *schema) resolve(at *schema) *schema {
	if at != nil && at.Ref != "" {
		return s.Definitions[strings.TrimPrefix(at.Ref, "#/definitions/")]
	}
	return at
}

// kind is what a value takes, in words.
func (s *schema) kind(v value) string {
	at := s
	for _, key := range strings.Split(v.path, ".") {
		resolved := s.resolve(at)
		if resolved == nil {
			break
		}
		at = resolved.Properties[key]
		if at == nil {
			at = resolved.others()
		}
	}
	if at != nil {
		if word := s.word(*at); word != "" {
			return word
		}
	}
	return tags[v.node.Tag]
}

// others is what values take that are not among the properties.
func (s *schema) others() *schema {
	fields, ok := s.AdditionalProperties.(map[string]any)
	if !ok {
		return nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	other, err := readSchema(text)
	if err != nil {
		return nil
	}
	return other
}

func (s *schema) word(at schema) string {
	if term, ok := terms[strings.TrimPrefix(at.Ref, "#/definitions/")]; ok {
		return term
	}
	resolved := s.resolve(&at)
	if resolved == nil {
		return ""
	}
	var words []string
	for _, choice := range resolved.Enum {
		words = append(words, fmt.Sprintf("`%v`", choice))
	}
	for _, choice := range resolved.AnyOf {
		words = append(words, s.word(choice))
	}
	switch given := resolved.Type.(type) {
	case string:
		words = append(words, types[given])
	case []any:
		for _, one := range given {
			if name, ok := one.(string); ok && name != "null" { // most values take a null, which then says nothing
				words = append(words, types[name])
			}
		}
	}
	return strings.Join(words, " or ")
}
