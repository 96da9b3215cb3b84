package web

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds of what a page draws as a tree; beyond them the body is shown raw.
const (
	maxTreeDepth = 64
	maxTreeNodes = 4000
	inlineLength = 96
)

// node is one value of a JSON text. Every scalar and every key is the source's
// own text: no number is rounded, no key sorted or lost, no escape undone.
type node struct {
	Key      string // the source's text with its quotes, "" for items and the root
	Open     byte   // '{' or '[', 0 for a scalar
	Scalar   string
	Children []node
}

// parseTree reads a JSON text. It returns false where src is not JSON or is
// beyond the bounds.
func parseTree(src []byte) (node, bool) {
	if !json.Valid(src) {
		return node{}, false
	}
	p := treeParser{src: src, left: maxTreeNodes}
	n := p.value(maxTreeDepth)
	return n, p.left >= 0
}

// treeParser walks a text that is known to be valid.
type treeParser struct {
	src  []byte
	at   int
	left int // nodes that may still be made; negative: too many or too deep
}

func (p *treeParser) value(depth int) node {
	p.space()
	p.left--
	if depth == 0 {
		p.left = -1
	}
	if p.left < 0 {
		return node{}
	}
	switch c := p.src[p.at]; c {
	case '{', '[':
		return p.container(c, depth)
	case '"':
		return node{Scalar: p.text()}
	}
	start := p.at
	for p.at < len(p.src) && !strings.ContainsRune(" \t\r\n,]}", rune(p.src[p.at])) {
		p.at++
	}
	return node{Scalar: string(p.src[start:p.at])}
}

func (p *treeParser) container(open byte, depth int) node {
	n := node{Open: open}
	p.at++
	for p.left >= 0 {
		p.space()
		switch p.src[p.at] {
		case '}', ']':
			p.at++
			return n
		case ',':
			p.at++
			p.space()
		}
		key := ""
		if open == '{' {
			key = p.text()
			p.space()
			p.at++ // the colon
		}
		child := p.value(depth - 1)
		child.Key = key
		n.Children = append(n.Children, child)
	}
	return n
}

// text returns the string at the parser's place with its quotes.
func (p *treeParser) text() string {
	start := p.at
	for p.at++; p.src[p.at] != '"'; p.at++ {
		if p.src[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	return string(p.src[start:p.at])
}

func (p *treeParser) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		p.at++
	}
}

// close is the bracket that ends n.
func (n node) close() string {
	if n.Open == '{' {
		return "}"
	}
	return "]"
}

// Brackets is what stands for n where it is folded: "{}" or "[]".
func (n node) Brackets() string { return string(n.Open) + n.close() }

// Name is n's key without its quotes.
func (n node) Name() string {
	if len(n.Key) < 2 {
		return n.Key
	}
	return n.Key[1 : len(n.Key)-1]
}

// Inline returns n on one line, where it is a scalar or small and flat.
func (n node) Inline() (string, bool) {
	if n.Open == 0 {
		return n.Scalar, true
	}
	for _, c := range n.Children {
		if c.Open != 0 && len(c.Children) > 0 {
			return "", false
		}
	}
	var b strings.Builder
	n.oneLine(&b)
	return b.String(), b.Len() <= inlineLength
}

func (n node) oneLine(b *strings.Builder) {
	if n.Key != "" {
		b.WriteString(n.Key + ": ")
	}
	if n.Open == 0 {
		b.WriteString(n.Scalar)
		return
	}
	b.WriteByte(n.Open)
	for i, c := range n.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		c.oneLine(b)
	}
	b.WriteString(n.close())
}

// pretty returns n indented, one member or item a line.
func (n node) pretty() string {
	var b strings.Builder
	n.indent(&b, 0)
	return b.String()
}

func (n node) indent(b *strings.Builder, depth int) {
	pad := strings.Repeat("  ", depth)
	b.WriteString(pad)
	if n.Key != "" {
		b.WriteString(n.Key + ": ")
	}
	if n.Open == 0 {
		b.WriteString(n.Scalar)
		return
	}
	b.WriteByte(n.Open)
	for i, c := range n.Children {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		c.indent(b, depth+1)
	}
	if len(n.Children) > 0 {
		b.WriteString("\n" + pad)
	}
	b.WriteString(n.close())
}

// label is what stands before a member or an item.
func label(n node, index int) string {
	if n.Key != "" {
		return n.Name()
	}
	return strconv.Itoa(index)
}

// value is line without n's own key, which the label shows.
func value(line string, n node) string {
	if n.Key == "" || n.Open == 0 {
		return line
	}
	return line[len(n.Key)+len(": "):]
}

// members says how many members or items n has.
func (f frame) members(n node) string {
	if n.Open == '{' {
		return f.N("body.members", int64(len(n.Children)))
	}
	return f.N("body.items", int64(len(n.Children)))
}
