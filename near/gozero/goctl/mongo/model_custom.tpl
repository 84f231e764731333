package model

import (
	{{if .Cache}}"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/monc"{{else}}"github.com/zeromicro/go-zero/core/stores/mon"{{end}}
)
{{if .Easy}}
const {{.Type}}CollectionName = "{{.snakeType}}"
{{end}}
type (
	// {{.Type}}Model is the model of a collection. Add methods of your own here: goctl writes
	// this file once.
	{{.Type}}Model interface {
		{{.lowerType}}Model
	}

	custom{{.Type}}Model struct {
		*default{{.Type}}Model
	}
)

var _ {{.Type}}Model = (*custom{{.Type}}Model)(nil)

// New{{.Type}}Model returns the model of a collection.{{if .Cache}} near is the cache of all models of the
// process, which near/gozero makes: gozero.MustNew(c.Near, c.Cache, monc.ErrNotFound). An error
// ends the process, as with goctl's own template.{{end}}
func New{{.Type}}Model(url, db{{if not .Easy}}, collection{{end}} string{{if .Cache}}, near cache.Cache{{end}}) {{.Type}}Model {
	{{if .Cache}}conn, err := monc.NewModelWithCache(url, db, {{if .Easy}}{{.Type}}CollectionName{{else}}collection{{end}}, near)
	logx.Must(err){{else}}conn := mon.MustNewModel(url, db, {{if .Easy}}{{.Type}}CollectionName{{else}}collection{{end}}){{end}}
	return &custom{{.Type}}Model{newDefault{{.Type}}Model(conn)}
}
