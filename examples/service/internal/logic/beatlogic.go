package logic

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// BeatLogic is the logic of POST /sessions/:id/beat.
type BeatLogic struct {
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewBeatLogic returns the logic for one request.
func NewBeatLogic(ctx context.Context, svcCtx *svc.ServiceContext) *BeatLogic {
	return &BeatLogic{ctx: ctx, svcCtx: svcCtx}
}

// Beat keeps a session alive for another timeout, and opens it if it is not.
//
// Touch is the whole work of nearly every beat: it writes the new deadline and
// moves nothing. When there was nothing to touch, of two beats that find out at
// once GetOrSet lets one open the session.
func (l *BeatLogic) Beat(req *types.SessionReq) (*types.BeatResp, error) {
	sessions, timeout := l.svcCtx.Sessions, l.svcCtx.Config.Sessions.Timeout
	created := false
	if !sessions.Touch(req.ID, timeout) {
		_, loaded := sessions.GetOrSet(req.ID, svc.Session{Since: time.Now()})
		created = !loaded
	}
	return &types.BeatResp{ID: req.ID, Created: created, Timeout: timeout.String()}, nil
}
