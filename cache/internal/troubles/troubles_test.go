package troubles

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeys checks which keys are kept: of those that fail the ones with the most failures, of slow ones the
// slowest of the last minute; and that a success ends failures.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k Keys[int]
		err := errors.New("down")
		k.Failed(-1, 9, time.Second, err)
		k.Failed(-1, 9, time.Second, err)
		for key := range 2 * most {
			time.Sleep(time.Millisecond)
			k.Failed(key, 0, time.Duration(key)*time.Second, err)
		}
		if keys, inRow := k.Failures(); keys != most || inRow != 2 {
			t.Errorf("%d keys fail, %d times in a row", keys, inRow)
		}
		all := k.Failing(most)
		if first := all[0]; len(all) != most || first.Key != -1 || first.Failed != 2 || first.Hash != 9 || first.Err != err || time.Since(first.Since) != 2*most*time.Millisecond {
			t.Errorf("%d keys fail, the first is %+v", len(all), first)
		}
		if last := all[most-1]; last.Key != 2*most-1 || all[most-2].Key != most-3 { // the newest gave way each time
			t.Errorf("the last are %d and %d", all[most-2].Key, last.Key)
		}
		slow := k.Slow(most)
		if len(slow) != slowest || slow[0].Took != (2*most-1)*time.Second || slow[slowest-1].Key != 2*most-slowest {
			t.Errorf("%d keys are slow: %+v", len(slow), slow)
		}
		k.Succeeded(slow[0].Key, 0, time.Millisecond)
		k.Succeeded(-1, 9, slowFrom)
		if slow, all := k.Slow(most), k.Failing(most); len(slow) != slowest || slow[slowest-1].Key != -1 || len(all) != most-2 || all[0].Key == -1 {
			t.Errorf("after successes: %d are slow, %d fail", len(slow), len(all))
		}
		time.Sleep(slowFor + time.Second)
		if slow, all := k.Slow(most), k.Failing(most); len(slow) != 0 || len(all) != most-2 {
			t.Errorf("after a minute: %d are slow, %d fail", len(slow), len(all))
		}
		time.Sleep(failedFor)
		if keys, _ := k.Failures(); keys != 0 || len(k.Failing(1)) != 0 {
			t.Errorf("after five minutes %d fail", keys)
		}
	})
}
