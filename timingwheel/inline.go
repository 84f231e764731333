package timingwheel

// These references make the compiler inline what the methods of the generic type
// call, in programs too. inline.go of package cache gives the reason.
var (
	_ = (*TimingWheel[int, int]).SetTimer
	_ = (*TimingWheel[int, int]).MoveTimer
	_ = (*TimingWheel[int, int]).RemoveTimer
)
