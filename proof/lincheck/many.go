package lincheck

// takeMany takes some keys at once, and records a Take for each value that it got. A key
// that it fetched is two operations, as in take: without a value of the key, or with an
// error, they end like a failed fetch. Every other call is a TakeManyWith, if there is one.
func (c *client) takeMany(op Op) {
	keys := []int{op.Key}
	for _, key := range c.keys {
		if key != op.Key && c.rand.IntN(2) == 0 {
			keys = append(keys, key)
		}
	}
	c.rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	op.Kind, op.Call = Take, c.now()
	loads := make(map[int]Op)
	fetch := func(missing []int, fail func(int, error)) (map[int]int64, error) {
		return c.fetchMany(op, missing, loads, fail)
	}
	if c.subject.Detached {
		began := op // fetch may read it later
		fetch = func(missing []int, fail func(int, error)) (map[int]int64, error) {
			return c.aside.fetchMany(began, missing, fail)
		}
	}
	var values map[int]int64
	if c.subject.TakeManyWith != nil && c.rand.IntN(2) == 0 {
		values, _ = c.subject.TakeManyWith(keys, fetch)
	} else {
		values, _ = c.subject.TakeMany(keys, func(missing []int) (map[int]int64, error) { return fetch(missing, nil) })
	}
	op.Return = c.now()
	for _, key := range keys {
		op.Key = key
		value, found := values[key]
		load, fetched := loads[key]
		if fetched {
			load.Got = load.Value
			if found || load.Value > 0 {
				load.Got = value
			}
			load.Return = op.Return
			c.ops = append(c.ops, load)
		} else if found {
			op.Got = value
			c.ops = append(c.ops, op)
		}
	}
}

// fetchMany is the fetch of a TakeMany that began at the call of op. It records that loads
// begin, and adds the operations that end them to loads. Of a key without a value it tells the
// error by fail, if that is not nil.
func (c *client) fetchMany(op Op, missing []int, loads map[int]Op, fail func(int, error)) (map[int]int64, error) {
	values := make(map[int]int64)
	now := c.now()
	failed := int64(0) // if not 0, the result for all keys
	if c.rand.IntN(8) == 0 {
		failed = -c.value()
	}
	for _, key := range missing {
		begins := op
		begins.Kind, begins.Key, begins.Return, begins.Load = TakeBegins, key, now, c.value()
		switch {
		case failed != 0:
			begins.Value = failed
		case c.rand.IntN(4) == 0:
			begins.Value = -begins.Load
			if fail != nil {
				fail(key, failure(begins.Value))
			}
		default:
			begins.Value = begins.Load
			values[key] = begins.Load
		}
		begins.Got = begins.Value
		c.ops = append(c.ops, begins)
		loads[key] = begins
	}
	c.pause()
	c.pause()
	for key, load := range loads {
		if load.Kind == TakeBegins {
			load.Kind, load.Call = TakeEnds, c.now()
			loads[key] = load
		}
	}
	if failed != 0 {
		return nil, failure(failed)
	}
	return values, nil
}
