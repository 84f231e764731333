package runner

// blockLen is the number of elements of a block. A burst takes one allocation for each blockLen
// elements, and an idle queue keeps at most two blocks.
const blockLen = 32

// queue is a first-in, first-out queue. The zero queue is empty and ready to
// use. It has no lock.
//
// It is a list of blocks and not one ring buffer: a ring buffer that doubles copies
// all its elements, and a push under a cache's lock must not copy a million
// events. A list of blocks also frees the memory of a burst block by block, and needs no
// rule for when to shrink.
type queue[E any] struct {
	head, tail *block[E] // both nil until the first push, never nil after it
	unused     *block[E] // for the next push that needs a block; may be nil
	front      int       // index of the oldest element in head
	back       int       // index of the next free place in tail; front == back in one block: empty
}

type block[E any] struct {
	next  *block[E]
	elems [blockLen]E // zero where no element is
}

// push adds e at the back.
func (q *queue[E]) push(e E) {
	if q.tail == nil || q.back == blockLen {
		q.addBlock()
	}
	q.tail.elems[q.back] = e
	q.back++
}

// pop removes the oldest element and returns it, or false if there is none.
func (q *queue[E]) pop() (e E, ok bool) {
	if q.head == nil || q.head == q.tail && q.front == q.back {
		return e, false
	}
	var zero E
	e, q.head.elems[q.front] = q.head.elems[q.front], zero
	q.front++
	if q.head == q.tail && q.front == q.back {
		q.front, q.back = 0, 0
	} else if q.front == blockLen {
		q.dropBlock()
	}
	return e, true
}

func (q *queue[E]) addBlock() {
	b := q.unused
	q.unused = nil
	if b == nil {
		b = new(block[E])
	}
	if q.tail == nil {
		q.head = b
	} else {
		q.tail.next = b
	}
	q.tail, q.back = b, 0
}

// dropBlock removes the head, whose elements are used up, and keeps it as unused. There is a
// block after it: the last one is reused in place.
func (q *queue[E]) dropBlock() {
	b := q.head
	q.head, q.front = b.next, 0
	b.next = nil
	q.unused = b
}
