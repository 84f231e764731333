package logic

import (
	"context"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// PutUserLogic is the logic of PUT /users/:id.
type PutUserLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewPutUserLogic returns the logic for one request.
func NewPutUserLogic(ctx context.Context, svcCtx *svc.ServiceContext) *PutUserLogic {
	return &PutUserLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// PutUser writes a user, new or not, to the database and then to the cache.
func (l *PutUserLogic) PutUser(req *types.PutUserReq) (*types.User, error) {
	u := types.User{ID: req.ID, Name: req.Name, Email: req.Email, City: req.City}
	if err := l.svcCtx.Users.Put(model.User(u)); err != nil {
		return nil, err
	}
	return &u, nil
}
