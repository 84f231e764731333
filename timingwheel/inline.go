package timingwheel

// As in package cache, and for the reason given there: so that what the methods of
// a generic type call is inlined in programs.
var (
	_ = (*TimingWheel[int, int]).SetTimer
	_ = (*TimingWheel[int, int]).MoveTimer
	_ = (*TimingWheel[int, int]).RemoveTimer
)
