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
		for key := range 2 * Most {
			time.Sleep(time.Millisecond)
			k.Failed(key, 0, time.Duration(key)*time.Second, err)
		}
		if keys, inRow := k.Failures(); keys != Most || inRow != 2 {
			t.Errorf("%d keys fail, %d times in a row", keys, inRow)
		}
		all := k.Failing(Most)
		if first := all[0]; len(all) != Most || first.Key != -1 || first.Failed != 2 || first.Hash != 9 || first.Err != err || time.Since(first.Since) != 2*Most*time.Millisecond {
			t.Errorf("%d keys fail, the first is %+v", len(all), first)
		}
		if last := all[Most-1]; last.Key != 2*Most-1 || all[Most-2].Key != Most-3 { // the newest gave way each time
			t.Errorf("the last are %d and %d", all[Most-2].Key, last.Key)
		}
		slow := k.Slow(Most)
		if len(slow) != slowest || slow[0].Took != (2*Most-1)*time.Second || slow[slowest-1].Key != 2*Most-slowest {
			t.Errorf("%d keys are slow: %+v", len(slow), slow)
		}
		k.Succeeded(slow[0].Key, 0, time.Millisecond)
		k.Succeeded(-1, 9, slowFrom)
		if slow, all := k.Slow(Most), k.Failing(Most); len(slow) != slowest || slow[slowest-1].Key != -1 || len(all) != Most-2 || all[0].Key == -1 {
			t.Errorf("after successes: %d are slow, %d fail", len(slow), len(all))
		}
		time.Sleep(slowFor + time.Second)
		if slow, all := k.Slow(Most), k.Failing(Most); len(slow) != 0 || len(all) != Most-2 {
			t.Errorf("after a minute: %d are slow, %d fail", len(slow), len(all))
		}
		time.Sleep(failedFor)
		if keys, _ := k.Failures(); keys != 0 || len(k.Failing(1)) != 0 {
			t.Errorf("after five minutes %d fail", keys)
		}
	})
}
