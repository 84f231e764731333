package logic

import (
	"context"
	"errors"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// GetUserLogic is the logic of GET /users/:id.
type GetUserLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewGetUserLogic returns the logic for one request.
func NewGetUserLogic(ctx context.Context, svcCtx *svc.ServiceContext) *GetUserLogic {
	return &GetUserLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// GetUser returns a user, from the cache or from the database.
func (l *GetUserLogic) GetUser(req *types.UserReq) (*types.User, error) {
	u, err := l.svcCtx.Users.Find(l.ctx, req.ID)
	if errors.Is(err, model.ErrNotFound) {
		return nil, apierr.NotFound("there is no user %d", req.ID)
	}
	if err != nil {
		return nil, err
	}
	resp := types.User(u)
	return &resp, nil
}
