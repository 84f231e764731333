package logic

import (
	"context"
	"errors"
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/apierr"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/types"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// SetReminderLogic is the logic of POST /reminders/:id.
type SetReminderLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewSetReminderLogic returns the logic for one request.
func NewSetReminderLogic(ctx context.Context, svcCtx *svc.ServiceContext) *SetReminderLogic {
	return &SetReminderLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// SetReminder sets a reminder, in place of another of this id. Without a text it
// moves the one that is there.
func (l *SetReminderLogic) SetReminder(req *types.SetReminderReq) (*types.SetReminderResp, error) {
	in, err := req.Delay()
	if err != nil {
		return nil, err
	}
	if req.Text == "" {
		err = l.move(req.ID, in)
	} else {
		err = l.svcCtx.Reminders.SetTimer(req.ID, req.Text, in)
	}
	if errors.Is(err, timingwheel.ErrFull) {
		return nil, apierr.TooMany("there are %d reminders, and no more than that", l.svcCtx.Config.Reminders.Limit)
	}
	if err != nil {
		return nil, err
	}
	return &types.SetReminderResp{ID: req.ID, Due: time.Now().Add(in).Format(time.RFC3339)}, nil
}

func (l *SetReminderLogic) move(id string, in time.Duration) error {
	moved, err := l.svcCtx.Reminders.MoveTimer(id, in)
	if err == nil && !moved {
		err = apierr.NotFound("there is no reminder %q to move: a new one needs a text", id)
	}
	return err
}
