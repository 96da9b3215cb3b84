package dlq

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// maxParsedBody bounds the memory that looking into a body takes; what stands
// in a larger body is not found.
const maxParsedBody = 16 << 20

// What a document turned out to be.
const (
	unread jsonKind = iota
	jsonObject
	jsonOther // JSON, but no object
	noJSON
)

type jsonKind uint8

// document is a body that is looked into when somebody asks, and once. A scan
// checks all of it and remembers where the members of the outermost object
// stand, which answers most questions; the tree is built only where a path
// needs it.
type document struct {
	body    []byte
	text    []byte // body without its byte order mark, once it was read
	kind    jsonKind
	members []member
	tree    any
	built   bool
}

// reset makes d the document of another body.
func (d *document) reset(body []byte) { *d = document{body: body, members: d.members[:0]} }

var byteOrderMark = []byte("\xef\xbb\xbf")

// read scans d once. Whatever the scan accepts, encoding/json accepts, and the
// other way round.
func (d *document) read() jsonKind {
	if d.kind != unread {
		return d.kind
	}
	d.kind, d.text = noJSON, bytes.TrimPrefix(d.body, byteOrderMark)
	if len(d.text) == 0 || len(d.text) > maxParsedBody {
		return noJSON
	}
	i := skipSpace(d.text, 0)
	kind := jsonOther
	if i < len(d.text) && d.text[i] == '{' {
		kind = jsonObject
		d.members, i = membersOf(d.text, i, 0, d.members, true)
	} else {
		i = skipValue(d.text, i, 0)
	}
	if i < 0 || skipSpace(d.text, i) != len(d.text) || !utf8.Valid(d.text) {
		return noJSON
	}
	d.kind = kind
	return kind
}

// isObject says whether the body is one JSON object. A body that does not
// begin like one costs nothing.
func (d *document) isObject() bool {
	if d.kind == unread && !d.looksLikeObject() {
		return false
	}
	return d.read() == jsonObject
}

func (d *document) looksLikeObject() bool {
	start := bytes.TrimPrefix(d.body, byteOrderMark)
	i := skipSpace(start, 0)
	return i < len(start) && start[i] == '{'
}

// at returns the value that a path of names leads to, nil where there is none.
// Of a name that stands twice in an object the last counts.
func (d *document) at(names ...string) []byte {
	if len(names) == 0 || !d.isObject() {
		return nil
	}
	m, ok := lastNamed(d.text, d.members, names[0])
	for _, name := range names[1:] {
		if !ok || d.text[m.value] != '{' {
			return nil
		}
		inner, _ := membersOf(d.text, m.value, 0, nil, true)
		m, ok = lastNamed(d.text, inner, name)
	}
	if !ok {
		return nil
	}
	return d.text[m.value:m.valueEnd]
}

// has says whether the outermost object has the name.
func (d *document) has(name string) bool { return d.at(name) != nil }

// textAt returns the string at a path of names, "" where there is none.
func (d *document) textAt(names ...string) string { return jsonText(d.at(names...)) }

// countAt returns the count at a path of names: a number, or one written as text.
func (d *document) countAt(names ...string) *int64 { return countOf(scalarIn(d.at(names...))) }

// lastNamed returns the last of members that has a name.
func lastNamed(text []byte, members []member, name string) (member, bool) {
	for _, m := range slices.Backward(members) {
		if isNamed(text[m.name:m.nameEnd], name) {
			return m, true
		}
	}
	return member{}, false
}

func isNamed(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	return unquoted(quoted) == name
}

// jsonText returns the text of a JSON value that is a string, else "".
func jsonText(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return unquoted(value)
}

// scalarIn returns the text of a JSON value that is a string, and a number as
// it is written; else "".
func scalarIn(value []byte) string {
	if len(value) > 0 && (value[0] == '-' || '0' <= value[0] && value[0] <= '9') {
		return string(value)
	}
	return jsonText(value)
}

func unquoted(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it was scanned: it is a string
	return s
}

// find returns the first text or number that a path leads to, as it is
// written, and "" where there is none.
func (d *document) find(path string) string {
	p := compile(path)
	switch {
	case p == nil:
		return ""
	case p.names != nil:
		return scalarIn(d.at(p.names...))
	}
	for _, node := range p.full.Select(d.value()) {
		if s := scalar(node); s != "" {
			return s
		}
	}
	return ""
}

// value returns the whole document, nil where the body is none.
func (d *document) value() any {
	if !d.built && d.read() != noJSON {
		d.tree = parseJSON(d.text)
	}
	d.built = true
	return d.tree
}

// parseJSON returns the one JSON document that body is, with numbers as they
// are written, or nil.
func parseJSON(body []byte) any {
	body = bytes.TrimPrefix(body, byteOrderMark)
	if len(body) == 0 || len(body) > maxParsedBody || !utf8.Valid(body) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil
	}
	return value
}

// path is a JSON path of the configuration. names is set where it is nothing
// but names, such as $.order.no: that needs no tree.
type path struct {
	full  *jsonpath.Path
	names []string
}

// compiled remembers the paths of the configuration, so that each is parsed
// once and not for each message; nil stands for one that cannot be parsed.
var compiled sync.Map // path text → *path

func compile(text string) *path {
	if known, ok := compiled.Load(text); ok {
		return known.(*path)
	}
	var p *path
	if full, err := jsonpath.Parse(text); err == nil {
		p = &path{full, namesOf(full)}
	}
	compiled.Store(text, p)
	return p
}

// namesOf returns the names that a path consists of, nil where it is more.
func namesOf(p *jsonpath.Path) []string {
	var names []string
	for _, segment := range p.Query().Segments() {
		selectors := segment.Selectors()
		if segment.IsDescendant() || len(selectors) != 1 {
			return nil
		}
		name, ok := selectors[0].(spec.Name)
		if !ok {
			return nil
		}
		names = append(names, string(name))
	}
	return names
}
