package logic

import (
	"context"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
)

// RemoveReminderLogic is the logic of DELETE /reminders/:id.
type RemoveReminderLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewRemoveReminderLogic returns the logic for one request.
func NewRemoveReminderLogic(ctx context.Context, svcCtx *svc.ServiceContext) *RemoveReminderLogic {
	return &RemoveReminderLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// RemoveReminder removes a reminder, so that it is not given.
func (l *RemoveReminderLogic) RemoveReminder(req *types.ReminderReq) error {
	removed, err := l.svcCtx.Reminders.RemoveTimer(req.ID)
	if err == nil && !removed {
		err = apierr.NotFound("there is no reminder %q", req.ID)
	}
	return err
}
