// Renders a Helm chart as `helm template` does, for tests on machines without Helm.
//
//	renderer CHART_FOLDER REQUEST
//
// REQUEST is JSON: see the type request. Prints JSON: {"objects": [...], "notes": "..."}, or
// {"error": "..."} for what Helm would refuse. Charts in charts/ are not supported.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

type request struct {
	ReleaseName string                 `json:"releaseName"`
	Namespace   string                 `json:"namespace"`
	Values      map[string]interface{} `json:"values"`
	KubeVersion string                 `json:"kubeVersion"`
	APIVersions []string               `json:"apiVersions"`
}

type chart struct {
	metadata  map[string]interface{}
	values    map[string]interface{}
	schema    []byte
	templates map[string]string
	files     files
}

type output struct {
	Objects []map[string]interface{} `json:"objects"`
	Notes   string                   `json:"notes"`
	Error   string                   `json:"error"`
}

func main() {
	result, err := run()
	if err != nil {
		result = &output{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		panic(err)
	}
}

func run() (*output, error) {
	if len(os.Args) != 3 {
		return nil, errors.New("usage: renderer CHART_FOLDER REQUEST")
	}
	var asked request
	if err := json.Unmarshal([]byte(os.Args[2]), &asked); err != nil {
		return nil, fmt.Errorf("the request is not JSON: %w", err)
	}
	loaded, err := loadChart(os.Args[1])
	if err != nil {
		return nil, err
	}
	scope, err := makeScope(loaded, asked)
	if err != nil {
		return nil, err
	}
	rendered, err := renderTemplates(loaded, scope)
	if err != nil {
		return nil, err
	}
	return readObjects(rendered)
}

func loadChart(folder string) (*chart, error) {
	loaded := &chart{templates: map[string]string{}, files: files{}}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return loaded.add(filepath.ToSlash(name), data)
	})
	if err != nil {
		return nil, err
	}
	if loaded.name() == "" {
		return nil, errors.New("Chart.yaml is missing or gives no name")
	}
	return loaded, nil
}

func (c *chart) name() string {
	name, _ := c.metadata["name"].(string)
	return name
}

func (c *chart) add(name string, data []byte) error {
	switch {
	case name == "Chart.yaml":
		return describe(name, yaml.Unmarshal(data, &c.metadata))
	case name == "values.yaml":
		return describe(name, yaml.UnmarshalStrict(data, &c.values))
	case name == "values.schema.json":
		c.schema = data
	case strings.HasPrefix(name, "charts/"):
		return fmt.Errorf("%s: this renderer does not support charts in charts/", name)
	case strings.HasPrefix(name, "templates/"):
		c.templates[name] = string(data)
	case name != "Chart.lock":
		c.files[name] = data
	}
	return nil
}

func describe(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// mergeValues fills the given values up with the chart's. A null removes the chart's value.
func mergeValues(given, defaults map[string]interface{}) map[string]interface{} {
	merged := map[string]interface{}{}
	for key, value := range defaults {
		merged[key] = value
	}
	for key, value := range given {
		defaultValue, hasDefault := defaults[key]
		givenTable, isTable := value.(map[string]interface{})
		defaultTable, isDefaultTable := defaultValue.(map[string]interface{})
		switch {
		case value == nil && hasDefault && defaultValue != nil:
			delete(merged, key)
		case isTable && isDefaultTable:
			merged[key] = mergeValues(givenTable, defaultTable)
		default:
			merged[key] = value
		}
	}
	return merged
}

func checkSchema(c *chart, values map[string]interface{}) error {
	if c.schema == nil {
		return nil
	}
	outcome, err := gojsonschema.Validate(
		gojsonschema.NewBytesLoader(c.schema), gojsonschema.NewGoLoader(values))
	if err != nil {
		return describe("values.schema.json", err)
	}
	if outcome.Valid() {
		return nil
	}
	lines := []string{}
	for _, problem := range outcome.Errors() {
		lines = append(lines, "- "+problem.String())
	}
	sort.Strings(lines)
	return fmt.Errorf("the values do not meet values.schema.json:\n%s", strings.Join(lines, "\n"))
}

// makeScope makes what a template sees as its dot.
func makeScope(c *chart, asked request) (map[string]interface{}, error) {
	values := mergeValues(asked.Values, c.values)
	if err := checkSchema(c, values); err != nil {
		return nil, err
	}
	kube, err := semver.NewVersion(asked.KubeVersion)
	if err != nil {
		return nil, fmt.Errorf("kubeVersion %q: %w", asked.KubeVersion, err)
	}
	if wanted, ok := c.metadata["kubeVersion"].(string); ok {
		constraint, err := semver.NewConstraint(wanted)
		if err != nil {
			return nil, fmt.Errorf("kubeVersion %q in Chart.yaml: %w", wanted, err)
		}
		if !constraint.Check(kube) {
			return nil, fmt.Errorf("the chart requires kubeVersion %s, which %s is not", wanted, kube)
		}
	}
	described := map[string]interface{}{"IsRoot": true}
	for key, value := range c.metadata {
		described[strings.ToUpper(key[:1])+key[1:]] = value
	}
	described["APIVersion"] = c.metadata["apiVersion"]
	return map[string]interface{}{
		"Chart":        described,
		"Files":        c.files,
		"Values":       values,
		"Subcharts":    map[string]interface{}{},
		"Capabilities": makeCapabilities(kube, asked.APIVersions),
		"Release": map[string]interface{}{
			"Name": asked.ReleaseName, "Namespace": asked.Namespace, "Service": "Helm",
			"Revision": 1, "IsInstall": true, "IsUpgrade": false,
		},
	}, nil
}

var documentStart = regexp.MustCompile(`(?m)^---`)

// readObjects parses what the templates gave, in the order of the names of the templates. The same key
// twice is refused: Helm would drop one of the two.
func readObjects(rendered map[string]string) (*output, error) {
	result := &output{Objects: []map[string]interface{}{}}
	names := []string{}
	for name := range rendered {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if strings.HasSuffix(name, "NOTES.txt") {
			result.Notes += rendered[name]
			continue
		}
		for _, document := range documentStart.Split(rendered[name], -1) {
			var object map[string]interface{}
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				return nil, fmt.Errorf("%s renders to what is not an object of Kubernetes: %w\n%s", name, err, strings.TrimSpace(document))
			}
			if object != nil {
				result.Objects = append(result.Objects, object)
			}
		}
	}
	return result, nil
}
