package near

import (
	"strconv"
	"strings"
)

// schemaMark stands before and after a Schema in the keys of the store. No Schema has one.
const schemaMark = "~"

// schemaPrefix returns the beginning of the keys of a cache with this Prefix and Schema.
func schemaPrefix(prefix, schema string) string {
	if schema == "" {
		return prefix
	}
	return prefix + schemaMark + schema + schemaMark
}

// neighbors returns the schemas before and after one that ends in a number, as "v2" does: those of
// the versions that run beside this one during a deploy or a rollback. The version before the
// number 0 or 1 had none.
func neighbors(schema string) (all []string) {
	name := strings.TrimRight(schema, "0123456789")
	digits := schema[len(name):]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return nil // it does not end in a number
	}
	if n > 0 {
		all = append(all, name+strconv.FormatUint(n-1, 10))
	}
	if n < 2 {
		all = append(all, "")
	}
	return append(all, name+strconv.FormatUint(n+1, 10))
}

// oddNumber reports whether a Schema ends in a number that has no neighbors: too large, or with a
// zero before it.
func oddNumber(schema string) bool {
	digits := schema[len(strings.TrimRight(schema, "0123456789")):]
	return len(digits) > 18 || len(digits) > 1 && digits[0] == '0'
}

// beside appends the keys in the store that the neighbors of this schema have for a key.
func (c *Cache[K, V]) beside(texts []string, key K) []string {
	for _, prefix := range c.neighbors {
		texts = append(texts, prefix+c.local.text.String(key))
	}
	return texts
}
