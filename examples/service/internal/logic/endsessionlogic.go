package logic

import (
	"context"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// EndSessionLogic is the logic of DELETE /sessions/:id.
type EndSessionLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewEndSessionLogic returns the logic for one request.
func NewEndSessionLogic(ctx context.Context, svcCtx *svc.ServiceContext) *EndSessionLogic {
	return &EndSessionLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// EndSession ends a session, so that it is not reported as silent.
func (l *EndSessionLogic) EndSession(req *types.SessionReq) error {
	if !l.svcCtx.Sessions.Del(req.ID) {
		return apierr.NotFound("there is no session %q", req.ID)
	}
	return nil
}
