package rabbit

import (
	"fmt"
	"strings"
)

// tagPrefix begins the tags of this product's subscriptions. By them it knows
// its own consumers, those of other consoles too, in what the management API
// tells of a queue.
const tagPrefix = "dlo-"

// tagOf names the nth subscription of a window. The broker gives messages back
// in the order of these names, as text.
func tagOf(n int) string { return fmt.Sprintf("%s%02d", tagPrefix, n) }

func ourTag(tag string) bool { return strings.HasPrefix(tag, tagPrefix) }
