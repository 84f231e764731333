package stats

import (
	"net/http"
	"strings"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

const wantPurge = "want the fields cache and key, cache and prefix, or cache and all=1, form-encoded: curl -d 'cache=users&key=42'; and perhaps fleet=1"

// servePurge removes entries of a cache, and answers with how many it removed.
func servePurge(w http.ResponseWriter, r *http.Request, name string, c sources.Cache[Snapshot]) *refusal {
	keys, prefixes, all, fleet := r.PostForm["key"], r.PostForm["prefix"], r.PostForm["all"], r.PostForm.Get("fleet")
	if len(keys)+len(prefixes)+len(all) != 1 || len(all) == 1 && all[0] != "1" || fleet != "" && fleet != "1" {
		return refuse(http.StatusBadRequest, wantPurge)
	}
	var everywhere sources.PurgeFleet
	if fleet != "" && c.PurgeFleet != nil {
		everywhere = c.PurgeFleet()
	}
	removed := 0
	switch {
	case fleet != "" && everywhere == nil:
		return refuse(http.StatusBadRequest, "cache %q is no near cache whose store knows the fleet: want no field fleet", name)
	case len(all) == 1 && c.PurgeAll == nil:
		return refuse(http.StatusBadRequest, "cache %q cannot be purged", name)
	case len(all) == 1:
		removed = c.PurgeAll()
	case len(prefixes) == 1 && c.PurgePrefix == nil:
		return refuse(http.StatusBadRequest, "keys of cache %q are not strings, and have no prefix", name)
	case len(prefixes) == 1 && prefixes[0] == "":
		return refuse(http.StatusBadRequest, "prefix is empty: want how the keys begin, or all=1 for all of them")
	case len(prefixes) == 1:
		removed = c.PurgePrefix(prefixes[0])
	case c.Purge == nil:
		return refuse(http.StatusBadRequest, "keys of cache %q cannot be written as text", name)
	default:
		var err error
		if removed, err = c.Purge(keys[0]); err != nil {
			return refuse(http.StatusBadRequest, "%v", err)
		}
	}
	done := map[string]any{"removed": removed}
	if s, ok := c.Snapshot(); everywhere != nil {
		var err error
		text := strings.Join(append(keys, prefixes...), "") // there is one at most
		if done["removed"], err = everywhere(r.Context(), text, len(keys) == 0); err != nil {
			return refuse(http.StatusBadGateway, "%v", err)
		}
	} else if ok && s.Near.exists() {
		done["note"] = "From the memory of this instance only: the store still has the values, and the next read brings them back. Fleet removes them for all."
	}
	answerJSON(w, http.StatusOK, done)
	return nil
}
