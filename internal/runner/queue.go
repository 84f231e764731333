package runner

// blockLen is the number of elements of a block. It trades the memory that an
// idle queue keeps, at most two blocks, for one allocation per blockLen
// elements of a burst.
const blockLen = 32

// queue is a first-in, first-out queue. The zero queue is empty and ready to
// use. It has no lock.
//
// It is a list of blocks and not one ring buffer: a ring buffer that doubles copies
// all its elements, and a push made under a cache's lock must not copy a million
// events. A list of blocks also frees a burst's memory block by block, with no rule
// for when to shrink.
type queue[E any] struct {
	head, tail *block[E] // both nil until the first push, never nil after it
	spare      *block[E] // at most one unused block, for the next push that needs one
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

// pop removes the oldest element, and reports false when there is none.
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
	b := q.spare
	q.spare = nil
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

// dropBlock removes the used-up head and keeps it as the spare. There is a block after
// it: the last one is reused in place.
func (q *queue[E]) dropBlock() {
	b := q.head
	q.head, q.front = b.next, 0
	b.next = nil
	q.spare = b
}
