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

// DeleteUserLogic is the logic of DELETE /users/:id.
type DeleteUserLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewDeleteUserLogic returns the logic for one request.
func NewDeleteUserLogic(ctx context.Context, svcCtx *svc.ServiceContext) *DeleteUserLogic {
	return &DeleteUserLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// DeleteUser removes a user from the database and then from the cache.
func (l *DeleteUserLogic) DeleteUser(req *types.UserReq) error {
	err := l.svcCtx.Users.Delete(req.ID)
	if errors.Is(err, model.ErrNotFound) {
		return apierr.NotFound("there is no user %d", req.ID)
	}
	return err
}
