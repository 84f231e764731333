package logic

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// Beat keeps a session alive for another timeout, and opens it if there is none.
//
// If two beats come at once, GetOrSet lets one of them open the session. For an open
// session GetOrSet is a read, and Touch writes the new deadline and moves nothing.
func Beat(_ context.Context, svcCtx *svc.ServiceContext, req *types.SessionReq) (*types.BeatResp, error) {
	sessions, timeout := svcCtx.Sessions, svcCtx.Config.Sessions.Expire
	for {
		_, alive := sessions.GetOrSet(req.ID, svc.Session{Since: time.Now()})
		if alive && !sessions.Touch(req.ID, timeout) {
			continue // it went silent just now
		}
		return &types.BeatResp{ID: req.ID, Created: !alive, Timeout: timeout.String()}, nil
	}
}
