// Package logic handles the requests, a function for each route.
package logic

import (
	"context"
	"errors"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/model"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// GetUser returns a user, from the cache or from the database.
func GetUser(ctx context.Context, svcCtx *svc.ServiceContext, req *types.UserReq) (*types.User, error) {
	u, err := svcCtx.Users.Find(ctx, req.ID)
	if err != nil {
		return nil, missing(err, req.ID)
	}
	return (*types.User)(&u), nil
}

// PutUser writes a user, new or not, to the database and then to the cache.
func PutUser(_ context.Context, svcCtx *svc.ServiceContext, req *types.PutUserReq) (*types.User, error) {
	u := types.User{ID: req.ID, Name: req.Name, Email: req.Email, City: req.City}
	if err := svcCtx.Users.Put(model.User(u)); err != nil {
		return nil, err
	}
	return &u, nil
}

// DeleteUser removes a user from the database and then from the cache.
func DeleteUser(_ context.Context, svcCtx *svc.ServiceContext, req *types.UserReq) (*struct{}, error) {
	return nil, missing(svcCtx.Users.Delete(req.ID), req.ID)
}

// missing makes the database's "not found" an error of the caller.
func missing(err error, id int64) error {
	if errors.Is(err, model.ErrNotFound) {
		return apierr.NotFound("there is no user %d", id)
	}
	return err
}
