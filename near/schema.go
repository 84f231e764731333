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

// neighbors returns the schemas before and after one that ends in a number, as "v2" does: those of the
// versions that run beside this one during a deploy or a rollback. Before the first, 0 or 1, there was
// none.
func neighbors(schema string) (all []string) {
	name := strings.TrimRight(schema, "0123456789")
	digits := schema[len(name):]
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || digits[0] == '0' && len(digits) > 1 {
		return nil
	}
	if n > 0 {
		all = append(all, name+strconv.FormatUint(n-1, 10))
	}
	if n < 2 {
		all = append(all, "")
	}
	return append(all, name+strconv.FormatUint(n+1, 10))
}

// beside returns the keys in the store that the neighbors of this schema have for a key.
func (c *Cache[K, V]) beside(texts []string, key K) []string {
	for _, prefix := range c.neighbors {
		texts = append(texts, prefix+c.local.text.String(key))
	}
	return texts
}
