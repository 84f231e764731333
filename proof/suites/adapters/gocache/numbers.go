package cache

//lint:file-ignore ST1005 errors read as those of the original

import "fmt"

// A number is a type that can be incremented.
type number interface {
	int | int8 | int16 | int32 | int64 | uint | uintptr | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// add adds n to the value of a key, which must have the same type.
func add[N number](c *Cache, k string, n N) (sum N, err error) {
	err = c.change(k, func(item Item) (Item, error) {
		old, ok := item.Object.(N)
		if !ok {
			return item, fmt.Errorf("The value for %s is not an %T", k, n)
		}
		sum = old + n
		item.Object = sum
		return item, nil
	})
	return sum, err
}

// addAny adds n to the value of a key, of whatever type.
func addAny[N int64 | float64](c *Cache, k string, n N) (err error) {
	value, _ := c.Get(k)
	switch value.(type) {
	case int:
		_, err = add(c, k, int(n))
	case int8:
		_, err = add(c, k, int8(n))
	case int16:
		_, err = add(c, k, int16(n))
	case int32:
		_, err = add(c, k, int32(n))
	case int64:
		_, err = add(c, k, int64(n))
	case uint:
		_, err = add(c, k, uint(n))
	case uintptr:
		_, err = add(c, k, uintptr(n))
	case uint8:
		_, err = add(c, k, uint8(n))
	case uint16:
		_, err = add(c, k, uint16(n))
	case uint32:
		_, err = add(c, k, uint32(n))
	case uint64:
		_, err = add(c, k, uint64(n))
	case float32:
		_, err = add(c, k, float32(n))
	case float64:
		_, err = add(c, k, float64(n))
	default:
		err = fmt.Errorf("The value for %s is not an integer", k)
	}
	return err
}

func (c *Cache) Increment(k string, n int64) error        { return addAny(c, k, n) }
func (c *Cache) IncrementFloat(k string, n float64) error { return addAny(c, k, n) }
func (c *Cache) Decrement(k string, n int64) error        { return addAny(c, k, -n) }
func (c *Cache) DecrementFloat(k string, n float64) error { return addAny(c, k, -n) }

func (c *Cache) IncrementInt(k string, n int) (int, error)             { return add(c, k, n) }
func (c *Cache) IncrementInt8(k string, n int8) (int8, error)          { return add(c, k, n) }
func (c *Cache) IncrementInt16(k string, n int16) (int16, error)       { return add(c, k, n) }
func (c *Cache) IncrementInt32(k string, n int32) (int32, error)       { return add(c, k, n) }
func (c *Cache) IncrementInt64(k string, n int64) (int64, error)       { return add(c, k, n) }
func (c *Cache) IncrementUint(k string, n uint) (uint, error)          { return add(c, k, n) }
func (c *Cache) IncrementUintptr(k string, n uintptr) (uintptr, error) { return add(c, k, n) }
func (c *Cache) IncrementUint8(k string, n uint8) (uint8, error)       { return add(c, k, n) }
func (c *Cache) IncrementUint16(k string, n uint16) (uint16, error)    { return add(c, k, n) }
func (c *Cache) IncrementUint32(k string, n uint32) (uint32, error)    { return add(c, k, n) }
func (c *Cache) IncrementUint64(k string, n uint64) (uint64, error)    { return add(c, k, n) }
func (c *Cache) IncrementFloat32(k string, n float32) (float32, error) { return add(c, k, n) }
func (c *Cache) IncrementFloat64(k string, n float64) (float64, error) { return add(c, k, n) }

func (c *Cache) DecrementInt(k string, n int) (int, error)             { return add(c, k, -n) }
func (c *Cache) DecrementInt8(k string, n int8) (int8, error)          { return add(c, k, -n) }
func (c *Cache) DecrementInt16(k string, n int16) (int16, error)       { return add(c, k, -n) }
func (c *Cache) DecrementInt32(k string, n int32) (int32, error)       { return add(c, k, -n) }
func (c *Cache) DecrementInt64(k string, n int64) (int64, error)       { return add(c, k, -n) }
func (c *Cache) DecrementUint(k string, n uint) (uint, error)          { return add(c, k, -n) }
func (c *Cache) DecrementUintptr(k string, n uintptr) (uintptr, error) { return add(c, k, -n) }
func (c *Cache) DecrementUint8(k string, n uint8) (uint8, error)       { return add(c, k, -n) }
func (c *Cache) DecrementUint16(k string, n uint16) (uint16, error)    { return add(c, k, -n) }
func (c *Cache) DecrementUint32(k string, n uint32) (uint32, error)    { return add(c, k, -n) }
func (c *Cache) DecrementUint64(k string, n uint64) (uint64, error)    { return add(c, k, -n) }
func (c *Cache) DecrementFloat32(k string, n float32) (float32, error) { return add(c, k, -n) }
func (c *Cache) DecrementFloat64(k string, n float64) (float64, error) { return add(c, k, -n) }
