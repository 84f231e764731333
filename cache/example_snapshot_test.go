package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

type city struct{ Name, Country string }

// A restart with a warm cache.
func ExampleCache_SaveFile() {
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "cities.cache")
	options := cache.Options[int, city]{Limit: 1000, Expire: time.Hour, Schema: "cities v1"}

	start := func() *cache.Cache[int, city] {
		cities := cache.Must(options)
		_, decode := codec.JSON[int, city]()
		n, err := cities.RestoreFile(path, decode)
		fmt.Println(n, "restored; first start:", errors.Is(err, fs.ErrNotExist))
		return cities
	}
	shutdown := func(cities *cache.Cache[int, city]) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		encode, _ := codec.JSON[int, city]()
		if err := cities.SaveFile(ctx, path, encode); err != nil {
			fmt.Println(err)
		}
	}

	cities := start()
	cities.Set(1, city{"Kyoto", "Japan"})
	shutdown(cities)
	fmt.Println(start().Get(1))
	// Output:
	// 0 restored; first start: true
	// 1 restored; first start: false
	// {Kyoto Japan} true
}

// A custom encode function needs no allocation.
func ExampleCache_Save() {
	c := cache.Must(cache.Options[string, int]{})
	c.Set("a", 1)
	var file bytes.Buffer
	err := c.Save(&file, func(dst []byte, key string, value int) ([]byte, error) {
		dst = strconv.AppendInt(dst, int64(value), 10)
		dst = append(dst, ' ')
		return append(dst, key...), nil
	})
	fmt.Println(err)

	restored := cache.Must(cache.Options[string, int]{})
	n, err := restored.Restore(&file, func(b []byte) (key string, value int, err error) {
		_, err = fmt.Sscanf(string(b), "%d %s", &value, &key)
		return key, value, err
	})
	fmt.Println(n, err)
	fmt.Println(restored.Get("a"))
	// Output:
	// <nil>
	// 1 <nil>
	// 1 true
}

func ExampleCache_Restore() {
	c := cache.Must(cache.Options[string, int]{})
	c.Set("a", 1)
	c.Set("b", 2)
	encode, _ := codec.Gob[string, int]()
	var file bytes.Buffer
	fmt.Println(c.Save(&file, encode))

	cut := file.Bytes()[:file.Len()-10]
	restored := cache.Must(cache.Options[string, int]{})
	_, decode := codec.Gob[string, int]()
	n, err := restored.Restore(bytes.NewReader(cut), decode)
	fmt.Println(n, restored.Len(), errors.Is(err, cache.ErrSnapshot))
	// Output:
	// <nil>
	// 1 1 true
}
