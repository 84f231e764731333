package main

// A library is one from which programs move.
type library struct {
	name      string // in the table of docs/migration.md
	path      string
	becomes   map[string]*becomes // its types, by name
	constants map[string]string   // what becomes of its constants
	rules     map[string]rule     // its functions, and methods as Type.Method
	dropIn    string              // the package with the same names, for those in same
	same      []string
}

// becomes is what a type becomes.
type becomes struct {
	name   string
	before string // a type argument that the other type does not have
}

// A rule moves the calls of a function or method.
type rule struct {
	becomes     string // for the table of docs/migration.md
	constructor bool
	do          func(*call) (why string) // why the call stays
}

// traits are what the constructors of a unit say about its caches.
type traits struct {
	touching bool // a read may begin the TTL anew
}

// libraries are all, by import path.
var libraries = map[string]*library{}

func init() {
	for _, lib := range []*library{goCache, golangLRU, expirableLRU, ttlCache, ristretto, otter, goZero, sturdyc} {
		libraries[lib.path] = lib
	}
}

// plainCache is what generic cache types become.
var plainCache = &becomes{name: "§Cache"}

// to is the rule of a method that another one with the same arguments and results replaces.
func to(name string) rule {
	return rule{becomes: "`" + name + "`", do: func(c *call) string {
		c.rename(name)
		return ""
	}}
}

// toUnused is the rule of a method that another one replaces if nobody looks at its results.
func toUnused(name string) rule {
	return rule{becomes: "`" + name + "`, if the result is not used", do: func(c *call) string {
		if !c.unused() {
			return "pinwheel's " + name + " does not return this"
		}
		c.asStatement()
		c.rename(name)
		return ""
	}}
}

// toHelper is the rule of a method that a function in the program replaces.
func toHelper(name, typeArgs, how string) rule {
	return rule{becomes: "the function `" + name + "`" + how, do: func(c *call) string {
		return c.helper(name, typeArgs)
	}}
}

// notNeeded is the rule of a statement that goes.
func notNeeded() rule {
	return rule{becomes: "nothing, as a statement", do: (*call).drop}
}

// stays is the rule of a function or method without an equal.
func stays(why string) rule {
	return rule{becomes: "stays: " + why, do: func(*call) string { return why }}
}
