package logic

import (
	"context"
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// listed is the most sessions in one response.
const listed = 100

// ListSessionsLogic is the logic of GET /sessions.
type ListSessionsLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewListSessionsLogic returns the logic for one request.
func NewListSessionsLogic(ctx context.Context, svcCtx *svc.ServiceContext) *ListSessionsLogic {
	return &ListSessionsLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// ListSessions counts the live sessions and names some of them.
func (l *ListSessionsLogic) ListSessions() (*types.SessionsResp, error) {
	resp := &types.SessionsResp{Sessions: []types.Session{}}
	for id, s := range l.svcCtx.Sessions.All() {
		if resp.Count++; resp.Count <= listed {
			resp.Sessions = append(resp.Sessions, types.Session{ID: id, Since: s.Since.Format(time.RFC3339)})
		}
	}
	return resp, nil
}
