package logic

import (
	"context"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/quickstart"
	"github.com/pinwheel-cache/pinwheel/examples/service/internal/svc"
)

// IndexLogic is the logic of GET /.
type IndexLogic struct {
	logx.Logger
	ctx    context.Context
	svcCtx *svc.ServiceContext
}

// NewIndexLogic returns the logic for one request.
func NewIndexLogic(ctx context.Context, svcCtx *svc.ServiceContext) *IndexLogic {
	return &IndexLogic{
		Logger: logx.WithContext(ctx),
		ctx:    ctx,
		svcCtx: svcCtx,
	}
}

// Index returns the lines to try, for a service that the client knows by this host.
func (l *IndexLogic) Index(host string) string {
	return quickstart.Lines("http://" + host)
}
