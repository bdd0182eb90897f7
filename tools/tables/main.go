// Command tables prints the facts of the API's Go types that no published schema has, by reflection on the released
// modules k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator named in go.mod:
//
//	go run ./tables fields   protobuf numbers, for src/karmada/apiserver/protobuf/fields.txt
//	go run ./tables wire     how JSON encoders treat absent and zero values, for src/karmada/apiserver/builtin/wire.txt
//	go run ./tables types    types of fields, for src/karmada/interpreter/types.txt
//
// Every kind of a stable version is visited, and every type such a kind contains; of types only those that the
// interpreter converts.
package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	registration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var (
	stable = regexp.MustCompile(`^v\d+$`)

	quantity    = reflect.TypeFor[resource.Quantity]()
	intOrString = reflect.TypeFor[intstr.IntOrString]()
	nulls       = []reflect.Type{reflect.TypeFor[v1.Time](), reflect.TypeFor[v1.MicroTime]()}
)

const (
	fieldsHead = "# Fields of protobuf messages: number:name:[* repeated, % map, ^ inlined]type. " +
		"Made by `go run ./tables fields` in tools.\n"
	wireHead = "# How the encoders of the API's own types treat absent and zero values of fields; " +
		"see schema/decoding.py for the codes.\n" +
		"# Fields that are not listed are written exactly when they are present. " +
		"Made by `go run ./tables wire` in tools.\n"
	typesHead = "# Types of fields: name:[* list, % map]type; see types.py for the codes. " +
		"Made by `go run ./tables types` in tools.\n"
)

// leaves are types that JSON writes in a form of their own.
var leaves = map[reflect.Type]string{
	quantity:                        "q",
	intOrString:                     "o",
	reflect.TypeFor[v1.Time]():      "t",
	reflect.TypeFor[v1.MicroTime](): "u",
	reflect.TypeFor[v1.FieldsV1]():  "a",
}

func main() {
	print := map[string]func(reflect.Type) string{"fields": protobufLine, "wire": wireLine, "types": typesLine}
	head := map[string]string{"fields": fieldsHead, "wire": wireHead, "types": typesHead}
	if len(os.Args) != 2 || print[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: tables fields|wire|types")
		os.Exit(2)
	}
	var lines []string
	visited := roots()
	if os.Args[1] == "types" {
		visited = interpreted()
	}
	for _, t := range reachable(visited) {
		if line := print[os.Args[1]](t); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	fmt.Print(head[os.Args[1]], strings.Join(slices.Compact(lines), "\n"), "\n")
}

// roots are the kinds of stable versions.
func roots() []reflect.Type {
	must(extensions.AddToScheme(scheme.Scheme))
	must(registration.AddToScheme(scheme.Scheme))
	found := []reflect.Type{reflect.TypeFor[v1.Status](), reflect.TypeFor[version.Info]()}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		if stable.MatchString(kind.Version) {
			found = append(found, t)
		}
	}
	return found
}

// interpreted are the kinds that the interpreter knows.
func interpreted() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[apps.Deployment](), reflect.TypeFor[apps.StatefulSet](), reflect.TypeFor[apps.ReplicaSet](),
		reflect.TypeFor[apps.DaemonSet](), reflect.TypeFor[batch.Job](), reflect.TypeFor[batch.CronJob](),
		reflect.TypeFor[core.Pod](), reflect.TypeFor[core.Service](), reflect.TypeFor[core.PersistentVolume](),
		reflect.TypeFor[core.PersistentVolumeClaim](), reflect.TypeFor[networking.Ingress](),
		reflect.TypeFor[policy.PodDisruptionBudget](), reflect.TypeFor[autoscaling.HorizontalPodAutoscaler](),
	}
}

func reachable(waiting []reflect.Type) []reflect.Type {
	seen := map[reflect.Type]bool{}
	var found []reflect.Type
	for len(waiting) > 0 {
		t := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if seen[t] {
			continue
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice:
			waiting = append(waiting, t.Elem())
		case reflect.Struct:
			found = append(found, t)
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() {
					waiting = append(waiting, f.Type)
				}
			}
		}
	}
	return found
}

// isMessage reports whether a type has a protobuf message of its own, as structs and some named lists have.
func isMessage(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("MarshalTo")
	return found && strings.HasPrefix(t.PkgPath(), "k8s.io/")
}

// protobufLine is a message and its fields in the order of the source. Messages that JSON writes in a form of their own
// are known to the decoder.
func protobufLine(t reflect.Type) string {
	if t.Kind() != reflect.Struct || marshals(t) || !isMessage(t) {
		return ""
	}
	words := []string{message(t)}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("protobuf"), ",")
		if len(tag) < 3 {
			continue
		}
		shape, of := protobufType(f.Type)
		name, inlined := jsonName(f)
		if inlined {
			shape, name = "^", strings.ToLower(f.Name[:1])+f.Name[1:]
		}
		if name != "" {
			words = append(words, fmt.Sprintf("%s:%s:%s%s", tag[1], name, shape, of))
		}
	}
	return strings.Join(words, " ")
}

func protobufType(t reflect.Type) (shape, name string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isMessage(t) {
		return "", message(t)
	}
	switch t.Kind() {
	case reflect.String:
		return "", "s"
	case reflect.Bool:
		return "", "b"
	case reflect.Int32, reflect.Int64, reflect.Uint32:
		return "", "i"
	case reflect.Float64:
		return "", "d"
	case reflect.Map:
		_, name = protobufType(t.Elem())
		return "%", name
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "", "y"
		}
		_, name = protobufType(t.Elem())
		return "*", name
	}
	panic("no protobuf type: " + t.String())
}

// typesLine is a struct and its fields; fields of inlined structs are the holder's own.
func typesLine(t reflect.Type) string {
	if t.Kind() != reflect.Struct || leaves[t] != "" || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return ""
	}
	words := append([]string{shortName(t)}, typedFields(t)...)
	if len(words) == 1 {
		return ""
	}
	return strings.Join(words, " ")
}

func typedFields(t reflect.Type) []string {
	var words []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, inlined := jsonName(f)
		if inlined {
			words = append(words, typedFields(f.Type)...)
		} else if name != "" {
			words = append(words, name+":"+typeCode(f.Type))
		}
	}
	return words
}

func typeCode(t reflect.Type) string {
	if code := leaves[t]; code != "" {
		return code
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeCode(t.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32:
		return "i"
	case reflect.Int64:
		return "l"
	case reflect.Map:
		return "%" + typeCode(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "*" + typeCode(t.Elem())
	case reflect.Struct:
		return shortName(t)
	}
	panic("no code for " + t.String())
}

// shortName is the name of a type with its group, which is unique among those that the interpreter knows.
func shortName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return parts[len(parts)-2] + "." + t.Name()
}

// wireLine is a definition and its fields by code; fields of inlined structs are the holder's own.
func wireLine(t reflect.Type) string {
	if t.Kind() != reflect.Struct || marshals(t) || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return ""
	}
	codes := map[string][]string{}
	collect(t, codes)
	words := []string{"io.k8s." + message(t)}
	for _, code := range []string{"i", "n", "q", "s", "v", "z"} {
		if names := codes[code]; len(names) > 0 {
			slices.Sort(names)
			words = append(words, code+":"+strings.Join(names, ","))
		}
	}
	if len(words) == 1 {
		return ""
	}
	return strings.Join(words, " ")
}

func collect(t reflect.Type, codes map[string][]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, inlined := jsonName(f)
		if inlined {
			collect(f.Type, codes)
		} else if code := wireCode(f); name != "" && code != "" {
			codes[code] = append(codes[code], name)
		}
	}
}

func wireCode(f reflect.StructField) string {
	options := strings.Split(f.Tag.Get("json"), ",")[1:]
	empty, zero := slices.Contains(options, "omitempty"), slices.Contains(options, "omitzero")
	switch {
	case f.Type.Kind() == reflect.Pointer && (empty || zero), f.Type.Kind() == reflect.Struct && zero:
		return ""
	case f.Type.Kind() == reflect.Pointer:
		return "n"
	case f.Type == quantity:
		return "q"
	case f.Type == intOrString:
		return "i"
	case slices.Contains(nulls, f.Type):
		return "s"
	case f.Type.Kind() == reflect.Struct && !marshals(f.Type):
		return "v"
	case f.Type.Kind() != reflect.Struct && empty:
		return "z"
	}
	return "s"
}

func marshals(t reflect.Type) bool {
	_, found := t.MethodByName("MarshalJSON")
	return found
}

func jsonName(f reflect.StructField) (name string, inlined bool) {
	tag, tagged := f.Tag.Lookup("json")
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case !f.IsExported() || name == "-":
		return "", false
	case name == "" && f.Anonymous:
		return "", true
	case !tagged:
		return f.Name, false
	}
	return name, false
}

// message is the name of a type in the published schemas, without the leading `io.k8s.`.
func message(t reflect.Type) string {
	return strings.ReplaceAll(strings.TrimPrefix(t.PkgPath(), "k8s.io/"), "/", ".") + "." + t.Name()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
