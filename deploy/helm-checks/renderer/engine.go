package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/semver/v3"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// Templates may include each other this deep.
const includeDepthMax = 1000

type files map[string][]byte

func (f files) Get(name string) string      { return string(f[name]) }
func (f files) GetBytes(name string) []byte { return f[name] }

func (f files) Lines(name string) []string {
	text := strings.TrimSuffix(f.Get(name), "\n")
	if text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}

// Glob knows * within a folder; Helm also knows **, which is refused here.
func (f files) Glob(pattern string) (files, error) {
	if strings.Contains(pattern, "**") {
		return nil, fmt.Errorf("this renderer does not support ** in Files.Glob %q", pattern)
	}
	found := files{}
	for name, data := range f {
		isMatch, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if isMatch {
			found[name] = data
		}
	}
	return found, nil
}

func (f files) AsConfig() string {
	texts := map[string]string{}
	for name, data := range f {
		texts[path.Base(name)] = string(data)
	}
	return toYaml(texts)
}

func (f files) AsSecrets() string {
	texts := map[string]string{}
	for name, data := range f {
		texts[path.Base(name)] = base64.StdEncoding.EncodeToString(data)
	}
	return toYaml(texts)
}

type kubeVersion struct{ Version, GitVersion, Major, Minor string }

func (k kubeVersion) String() string { return k.Version }

type apiVersions []string

func (a apiVersions) Has(name string) bool {
	for _, version := range a {
		if version == name {
			return true
		}
	}
	return false
}

type capabilities struct {
	KubeVersion kubeVersion
	APIVersions apiVersions
	HelmVersion struct{ Version, GoVersion string }
}

var builtInVersions = apiVersions{
	"v1", "apps/v1", "autoscaling/v2", "batch/v1", "networking.k8s.io/v1", "policy/v1",
	"rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1",
}

func makeCapabilities(kube *semver.Version, more []string) *capabilities {
	text := "v" + kube.String()
	made := &capabilities{
		KubeVersion: kubeVersion{text, text, fmt.Sprint(kube.Major()), fmt.Sprint(kube.Minor())},
		APIVersions: append(append(apiVersions{}, builtInVersions...), more...),
	}
	made.HelmVersion.Version = "v3.18.0"
	return made
}

func toYaml(value interface{}) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func toJson(value interface{}) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

type unmarshal func([]byte, interface{}) error

func fromYamlBytes(data []byte, to interface{}) error { return yaml.Unmarshal(data, to) }

// readMap makes fromYaml and fromJson: an error is a value, as in Helm.
func readMap(read unmarshal) func(string) map[string]interface{} {
	return func(text string) map[string]interface{} {
		found := map[string]interface{}{}
		if err := read([]byte(text), &found); err != nil {
			found["Error"] = err.Error()
		}
		return found
	}
}

func readArray(read unmarshal) func(string) []interface{} {
	return func(text string) []interface{} {
		found := []interface{}{}
		if err := read([]byte(text), &found); err != nil {
			return []interface{}{err.Error()}
		}
		return found
	}
}

func fail(message string) (string, error) { return "", errors.New(message) }

func required(message string, value interface{}) (interface{}, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

func lookup(_, _, _, _ string) map[string]interface{} { return map[string]interface{}{} }

func makeFunctions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	for name, function := range (template.FuncMap{
		"toYaml": toYaml, "fromYaml": readMap(fromYamlBytes), "fromYamlArray": readArray(fromYamlBytes),
		"toJson": toJson, "fromJson": readMap(json.Unmarshal), "fromJsonArray": readArray(json.Unmarshal),
		"required": required, "fail": fail, "lookup": lookup,
		"getHostByName": func(string) string { return "" },
	}) {
		functions[name] = function
	}
	return functions
}

// bind gives a set of templates the functions that run templates of the same set.
func bind(set *template.Template, depth *int) {
	execute := func(name string, from *template.Template, scope interface{}) (string, error) {
		if *depth++; *depth > includeDepthMax {
			return "", fmt.Errorf("the templates include each other without end at %q", name)
		}
		defer func() { *depth-- }()
		var text strings.Builder
		err := from.ExecuteTemplate(&text, name, scope)
		return text.String(), err
	}
	set.Funcs(template.FuncMap{
		"include": func(name string, scope interface{}) (string, error) {
			return execute(name, set, scope)
		},
		"tpl": func(text string, scope interface{}) (string, error) {
			copied, err := set.Clone()
			if err != nil {
				return "", err
			}
			copied.Option("missingkey=zero")
			bind(copied, depth)
			// A name that no file has: a text of definitions alone leaves it undefined.
			const name = "tpl"
			if _, err := copied.New(name).Parse(text); err != nil {
				return "", err
			}
			rendered, err := execute(name, copied, scope)
			return dropNoValue(rendered), err
		},
	})
}

// dropNoValue removes what text/template writes for a value that is missing, as Helm does.
func dropNoValue(text string) string { return strings.ReplaceAll(text, "<no value>", "") }

// renderTemplates runs every template whose name does not begin with an underscore. Of two definitions
// of one name, the one in the folder nearer to the chart counts, as in Helm.
func renderTemplates(c *chart, scope map[string]interface{}) (map[string]string, error) {
	set := template.New("chart").Option("missingkey=zero").Funcs(makeFunctions())
	bind(set, new(int))
	names := []string{}
	for name := range c.templates {
		names = append(names, name)
	}
	sort.Slice(names, func(left, right int) bool {
		leftDepth, rightDepth := strings.Count(names[left], "/"), strings.Count(names[right], "/")
		if leftDepth != rightDepth {
			return leftDepth > rightDepth
		}
		return names[left] > names[right]
	})
	for _, name := range names {
		if _, err := set.New(c.name() + "/" + name).Parse(c.templates[name]); err != nil {
			return nil, err
		}
	}
	rendered := map[string]string{}
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		fullName := c.name() + "/" + name
		scope["Template"] = map[string]interface{}{
			"Name": fullName, "BasePath": c.name() + "/templates",
		}
		var text strings.Builder
		if err := set.ExecuteTemplate(&text, fullName, scope); err != nil {
			return nil, err
		}
		rendered[name] = dropNoValue(text.String())
	}
	return rendered, nil
}
