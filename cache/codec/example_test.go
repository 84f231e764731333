package codec_test

import (
	"fmt"

	"github.com/pinwheel-cache/pinwheel/cache/codec"
)

func ExampleJSON() {
	encode, decode := codec.JSON[string, []int]()
	b, err := encode(nil, "a", []int{1, 2})
	fmt.Println(string(b), err)
	fmt.Println(decode(b))
	// Output:
	// ["a",[1,2]] <nil>
	// a [1 2] <nil>
}

func ExampleGob() {
	encode, decode := codec.Gob[string, []int]()
	b, _ := encode(nil, "a", []int{1, 2})
	fmt.Println(decode(b))
	// Output: a [1 2] <nil>
}
